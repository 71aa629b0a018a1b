"""The documents say what the program does: their shell examples are played, and the output compared.

Above each block of shell commands stands a comment: `<!-- played -->`, perhaps with commands that are run before
(`<!-- played, after: fleet init -->`), or `<!-- not played: why -->`. The blocks of one page are played one after the
other in one shell, in a scratch home and a scratch repository named web. tests/live/views/test_readme.py plays the README.
"""

import pytest
from staging.pages import NOT_PLAYED, PLAYED, ROOT, blocks, differences, played

PAGES = sorted(ROOT.glob("docs/**/*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_example_is_played_or_says_why_not(page):
    for mark, _kind, text in blocks(page):
        assert PLAYED.fullmatch(mark) or NOT_PLAYED.fullmatch(mark), f"{page.name}: no mark above\n{text}"


@pytest.mark.slow("a shell runs a dozen commands a page")
@pytest.mark.parametrize(
    "page", [page for page in PAGES if played(page)[1]], ids=lambda page: str(page.relative_to(ROOT))
)
def test_an_example_prints_what_the_page_says(page, tmp_path):
    wrong = differences(*played(page), tmp_path)
    assert not wrong, "\n\n".join(wrong)


def test_a_page_that_says_something_else_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("<!-- played -->\n```console\n$ echo one; false\none\n$ echo $?\n1\n$ echo three\nfour\n```\n")
    [wrong] = differences(*played(page), tmp_path)
    assert wrong == "$ echo three\n--- the page\nfour\n--- the program\nthree"
