"""Which pull request of a branch is ours: one of a fork that has a branch of the same name is not."""

import json

import pytest

from fleet.errors.families import BadInput
from fleet.world.forge import GitHub, GitLab, forge, repository_in
from fleet.world.process.programs import Done

WORDS = {"branch": "worker/t", "commit": "c1", "target": "main", "title": "T", "body": "B"}


class Programs:
    """Answers a listing with the given pull requests, and opens a new one."""

    def __init__(self, *listed: dict) -> None:
        self.listed = listed

    def run(self, _name, words, **_options) -> Done:
        return Done(status=0, out=json.dumps(self.listed) if "list" in words else "https://new\n", err="")


def pull(owner: str, *, cross: bool) -> dict:
    return {"url": f"https://{owner}", "isCrossRepository": cross, "headRepositoryOwner": {"login": owner}}


def merge(source: int, sha: str = "c1") -> dict:
    return {
        "web_url": f"https://{source}",
        "source_project_id": source,
        "target_project_id": 1,
        "sha": sha,
        "references": {"full": "team/web!3"},
    }


@pytest.mark.parametrize(
    ("remote", "listed", "address"),
    [
        ("git@github.com:team/web.git", [pull("mallory", cross=True)], "https://new"),
        ("git@github.com:team/web.git", [pull("mallory", cross=True), pull("Team", cross=False)], "https://Team"),
        # We push to a fork of our own, and open pull requests upstream.
        ("https://github.com/ann/web", [pull("team", cross=False), pull("ann", cross=True)], "https://ann"),
        ("/srv/web.git", [pull("mallory", cross=True)], "https://new"),
        ("/srv/web.git", [pull("team", cross=False)], "https://team"),
        ("/srv/web.git", [{"url": "https://x"}], "https://new"),
    ],
)
def test_a_pull_request_of_somebody_elses_fork_is_not_ours(remote, listed, address):
    assert GitHub(Programs(*listed), "/r", remote, "gh").open_pull_request(**WORDS) == address


@pytest.mark.parametrize(
    ("remote", "listed", "address"),
    [
        ("git@gitlab.com:team/web.git", [merge(2)], "https://new"),
        ("git@gitlab.com:team/web.git", [merge(2), merge(1)], "https://1"),
        ("git@gitlab.com:ann/web.git", [merge(1), merge(2, "c0"), merge(3)], "https://3"),
        ("/srv/web.git", [merge(2)], "https://new"),
        ("/srv/web.git", [{"web_url": "https://x"}], "https://new"),
    ],
)
def test_a_merge_request_of_somebody_elses_fork_is_not_ours(remote, listed, address):
    assert GitLab(Programs(*listed), "/r", remote, "glab").open_pull_request(**WORDS) == address


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("git@github.com:team/web.git", "team/web"),
        ("github.com:team/web", "team/web"),
        ("https://github.com/team/web.git", "team/web"),
        ("https://user:secret@host:8443/a/b/web/", "a/b/web"),
        ("ssh://git@host:2222/team/web.git", "team/web"),
        ("/srv/git/web.git", ""),
        ("../web", ""),
        ("file:///srv/team/web.git", ""),
        ("host:web", ""),
    ],
)
def test_the_repository_in_an_address(address, name):
    assert repository_in(address) == name


def test_a_command_of_the_users_is_split_into_words_and_refused_while_a_quote_is_open():
    mine = forge(Programs(), "/r", command="'my forge' --to 'a b'", remote="/srv/web.git")
    assert mine is not None
    assert mine.name == "my forge"
    with pytest.raises(BadInput, match=r"pr\.command is \"x 'y\": no closing quotation"):
        forge(Programs(), "/r", command="x 'y", remote="/srv/web.git")
