"""fleet clean: things that go for one reason are one group."""

from fleet.model.results.home import Swept
from fleet.surfaces.cli.commands.home.clean import _print_findings


def swept(what: str, why: str = "nobody needs it", *, standing: bool = False) -> Swept:
    return Swept(what=what, why=why, proof="p", action="would release it", standing=standing)


def test_one_finding_is_a_line_and_several_of_one_reason_are_a_group(capsys):
    _print_findings(
        [swept("a"), swept("b", "it expired"), swept("c"), swept("d", standing=True), swept("e", standing=True)]
    )
    assert capsys.readouterr().out == (
        "2 things: nobody needs it (p) → would release it\n"
        "  a\n"
        "  c\n"
        "b: it expired (p) → would release it\n"
        "Standing:\n"
        "  2 things: nobody needs it (p) → would release it\n"
        "    d\n"
        "    e\n"
    )


def test_a_large_group_names_its_first_and_counts_the_others(capsys):
    _print_findings([swept(f"thing-{number:03}") for number in range(25)])
    lines = capsys.readouterr().out.splitlines()
    assert (lines[0], lines[20], lines[21]) == (
        "25 things: nobody needs it (p) → would release it",
        "  thing-019",
        "  and 5 more; --json names all",
    )


def test_nothing_leaked_is_said(capsys):
    _print_findings([])
    assert capsys.readouterr().out == "nothing leaked\n"
