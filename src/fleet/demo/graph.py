"""The task graph of `fleet demo`, and the script that each of its agents follows."""

from __future__ import annotations

# The tasks with a mishap: the agent is killed, hangs, or leaves uncommitted files; the dispatcher is killed half-way.
KILLED, HANGS, MESSY, HALF_WAY = "lexer", "types", "printer", "backend"
# Each task, with the tasks that it waits for.
GRAPH = {
    "foundation": [],
    "lexer": ["foundation"],
    "parser": ["lexer"],
    "printer": ["foundation"],
    "types": ["foundation"],
    "checker": ["parser", "types"],
    "optimiser": ["checker"],
    "backend": ["types"],
    "linker": ["backend"],
    "driver": ["optimiser", "linker"],
    "docs": ["printer"],
    "release": ["driver", "docs"],
}


def script(slug: str, *, bad_luck: bool) -> str:
    """Return the commands that the scripted agent of a task runs.

    With `bad_luck`, the agent of HANGS hangs and that of KILLED waits to be killed; without it, both succeed. The agent
    of MESSY always leaves a file uncommitted.
    """
    work = f"write src/{slug}.py value = '{slug}'\nlog wrote src/{slug}.py\ncommit Add {slug}\nwait 0.3\nartifact src/{slug}.py\n"
    if bad_luck and slug == HANGS:
        return f"write src/{slug}.py half\nhang\n"
    if bad_luck and slug == KILLED:
        return f"log begins\n{work}wait 60\ndone\n"
    if slug == MESSY:
        return f"{work}write notes.txt never committed\ndone notes of its own\n"
    return f"{work}done\n"
