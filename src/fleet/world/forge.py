"""Forges such as GitHub and GitLab: open and look up pull requests through gh, glab, or a program of the user's."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from typing import TYPE_CHECKING, Any

from fleet import errors
from fleet.model.text.secrets import hidden

if TYPE_CHECKING:
    from fleet.model.states import PullRequestState
    from fleet.world.process.programs import Done, Programs

# How many seconds one call of gh, glab or the user's program may take.
LIMIT = 60.0
_STATES: dict[str, PullRequestState] = {"open": "open", "opened": "open", "merged": "merged", "closed": "closed"}


class PullRequestProgram:
    """A program that opens and looks up pull requests for a repository.

    `said` is the message of its last call, for people and without secrets; empty before the first.
    """

    def __init__(self, programs: Programs, repository: str, remote: str, *words: str) -> None:
        """Prepare to run the program with its first arguments (`words`). `remote` is the address of the remote."""
        self._programs = programs
        self._repository = repository
        # OWNER/NAME of the repository that branches are pushed to; empty when the remote's address does not say.
        self._pushed_to = repository_in(remote)
        self._words = words
        self.name = words[0]
        self.said = ""

    def _ask(self, *words: str) -> Done:
        """Run gh, glab or the user's program in the repository, keep its message in `said`, and return the result."""
        done = self._programs.run(self.name, [*self._words, *words], limit=LIMIT, cwd=self._repository)
        self.said = hidden(" ".join((done.err or done.out).split())) or f"it gave {done.status}"
        return done

    def _list(self, *words: str) -> list[dict[str, Any]]:
        """Run the program for pull requests with these words; return the JSON that it prints, as a list.

        The list is empty when the program fails or prints no JSON.
        """
        done = self._ask(*words)
        try:
            found = json.loads(done.out) if done.ok else []
        except ValueError:
            return []
        return found if isinstance(found, list) else [found]


class UserProgram(PullRequestProgram):
    """The user's own program for pull requests (the setting `pr.command`)."""

    def open_pull_request(self, *, branch: str, commit: str, target: str, title: str, body: str) -> str | None:  # noqa: ARG002 - as the others
        """Open a pull request; return its address, or None when the program failed or printed nothing.

        The address is the last word that the program prints. `commit` is not used.
        """
        done = self._ask("--branch", branch, "--target", target, "--title", title, "--body", body)
        return _address(done)

    def state(self, address: str) -> PullRequestState:
        """Return the state of the pull request at an address, as the program prints it.

        "unknown" when the program failed or printed something else than open, merged or closed.
        """
        done = self._ask("--state", address)
        return _STATES.get(done.out.strip().lower(), "unknown") if done.ok else "unknown"


class GitHub(PullRequestProgram):
    """GitHub, through the program gh."""

    def open_pull_request(self, *, branch: str, commit: str, target: str, title: str, body: str) -> str | None:  # noqa: ARG002 - as the others
        """Return the address of the branch's open pull request; open one if there is none. None when that failed.

        `commit` is not used.
        """
        fields = "url,isCrossRepository,headRepositoryOwner"
        there = self._list("pr", "list", "--head", branch, "--state", "open", "--json", fields)
        ours = [each for each in there if self._is_ours(each)]
        if ours:
            return str(ours[0].get("url"))
        words = ["--head", branch, "--base", target, "--title", title, "--body", body]
        return _address(self._ask("pr", "create", *words))

    def _is_ours(self, pull: dict[str, object]) -> bool:
        """Return whether a pull request comes from the repository that fleet pushes to.

        A fork may have a branch of the same name. `pull` is the pull request as gh prints it.
        """
        owner = _text_in(pull.get("headRepositoryOwner"), "login")
        if owner and self._pushed_to:
            return owner.lower() == self._pushed_to.partition("/")[0].lower()
        return pull.get("isCrossRepository") is False

    def state(self, address: str) -> PullRequestState:
        """Return the state of the pull request at an address; "unknown" when gh cannot tell."""
        found = self._list("pr", "view", address, "--json", "state")
        return _STATES.get(str(found[0].get("state")).lower(), "unknown") if found else "unknown"


class GitLab(PullRequestProgram):
    """GitLab, through the program glab."""

    def open_pull_request(self, *, branch: str, commit: str, target: str, title: str, body: str) -> str | None:
        """Return the address of the branch's open merge request; open one if there is none. None when that failed.

        `commit` is the commit that was pushed.
        """
        there = self._list("mr", "list", "--source-branch", branch, "--output", "json")
        ours = [each for each in there if self._is_ours(each, commit)]
        if ours:
            return str(ours[0].get("web_url"))
        words = ["--source-branch", branch, "--target-branch", target, "--title", title, "--description", body, "--yes"]
        return _address(self._ask("mr", "create", *words))

    def _is_ours(self, merge: dict[str, object], commit: str) -> bool:
        """Return whether a merge request comes from the repository that fleet pushes to.

        A fork may have a branch of the same name. When the repository that fleet pushes to is itself a fork, only the
        pushed commit distinguishes its merge request from those of other forks. `merge` is the merge request as glab
        prints it.
        """
        into = _text_in(merge.get("references"), "full").partition("!")[0]
        is_within = "source_project_id" in merge and merge.get("source_project_id") == merge.get("target_project_id")
        if into and self._pushed_to and into.lower() != self._pushed_to.lower():
            return not is_within and merge.get("sha") == commit
        return is_within

    def state(self, address: str) -> PullRequestState:
        """Return the state of the merge request at an address; "unknown" when glab cannot tell."""
        found = self._list("mr", "view", address, "--output", "json")
        return _STATES.get(str(found[0].get("state")).lower(), "unknown") if found else "unknown"


def forge(
    programs: Programs, repository: str, *, command: str | None, remote: str
) -> UserProgram | GitHub | GitLab | None:
    """Return the program for pull requests: the user's own `command`, else glab for an address of a GitLab, else gh.

    Without a `command`, when only one of glab and gh is installed, it is that one; None when neither is. `remote` is
    the remote's address. Raise BadInput for a `command` in which a quote is not closed.
    """
    if command:
        return UserProgram(programs, repository, remote, *_words_of(command))
    found = [each for each in ("gh", "glab") if shutil.which(each)]
    if not found:
        return None
    wanted = "glab" if "gitlab" in remote else "gh"
    name = wanted if wanted in found else found[0]
    kind = GitHub if name == "gh" else GitLab
    return kind(programs, repository, remote, name)


def _words_of(command: str) -> list[str]:
    """Return the words of the user's own command. Raise BadInput when a quote in it is not closed."""
    try:
        return shlex.split(command)
    except ValueError as error:
        raise errors.BadInput(what=f"pr.command is {command!r}: {str(error).lower()}") from None


def repository_in(address: str) -> str:
    """Return OWNER/NAME from a remote's address; empty for a path and for any other text."""
    found = re.fullmatch(r"(?:\w+://(?:[^/@]+@)?[^/]+/|(?:[^/@:]+@)?[^/@:]+:(?!//))(.+?)(?:\.git)?/*", address)
    name = found[1].strip("/") if found and not address.startswith("file:") else ""
    return name if "/" in name else ""


def _text_in(value: object, key: str) -> str:
    """Return the text under a key of a JSON object; empty when there is none."""
    text = value.get(key) if isinstance(value, dict) else None
    return text if isinstance(text, str) else ""


def _address(done: Done) -> str | None:
    """Return the address that a program printed as its last word; None when it failed or printed nothing."""
    words = done.out.split()
    return words[-1] if done.ok and words else None
