"""The acts of the screen (`fleet tui`) and their keys: the defaults, the keys in the settings, and clashes between them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class Act:
    """One act of the screen: its name in the settings, its keys, its label in the bar, its sentence on the help page.

    An act whose label is "" is not in the bar. `place` is the part of the screen where the keys work, `board` or
    `review`; acts of different places may have the same key.
    """

    __slots__ = ("help", "keys", "label", "name", "place")

    def __init__(self, name: str, keys: str, label: str, help: str, *, place: str = "board") -> None:  # noqa: A002
        self.name = name
        self.keys = tuple(keys.split())
        self.label = label
        self.help = help
        self.place = place


# Names of keys that are no letters. Every other key is written as its one character.
NAMED = frozenset(
    {
        *("enter", "space", "tab", "escape", "backspace", "delete", "insert", "home", "end", "pageup", "pagedown"),
        *("up", "down", "left", "right", *(f"f{number}" for number in range(1, 13))),
    }
)
_MODIFIERS = ("ctrl+", "shift+", "alt+")
# These keys always choose an answer.
DIGITS = tuple("123456789")

ACTS = (
    Act("down", "j down", "", "Select the next row."),
    Act("up", "k up", "", "Select the row before."),
    Act("first", "home", "", "Select the first row."),
    Act("last", "G end", "", "Select the last row."),
    Act("fold", "left right z", "fold", "Fold or unfold a project or a group."),
    Act("next", "space", "next", "Go to the next row that needs you."),
    Act("filter", "/", "filter", "Show only the rows that contain some words."),
    Act("tab", "tab", "tabs", "Show the next tab: live, diff, task, journal, operations."),
    Act("tab-back", "shift+tab", "", "Show the tab before."),
    Act("scroll-down", "J pagedown ctrl+d", "", "Scroll the tab down."),
    Act("scroll-up", "K pageup ctrl+u", "", "Scroll the tab up."),
    Act("scroll-right", ">", "", "Scroll the tab to the right, to what is cut off."),
    Act("scroll-left", "<", "", "Scroll the tab to the left."),
    Act("attach", "enter o", "attach", "Join the agent's terminal; Ctrl+Q comes back."),
    Act("coordinator", "a", "coordinator", "Join the project's coordinator, or start it."),
    Act("approve", "y", "approve", "Permit what the agent asks to do."),
    Act("deny", "!", "deny", "Refuse what the agent asks to do."),
    Act("answer", "w", "answer", "Answer the question in your own words; 1 to 9 choose an answer."),
    Act("comment-line", "c", "comment", "Comment on a line of the diff: choose the line, then c again."),
    Act("review", "R", "review", "Review the work: accept it, or send it back with comments on lines."),
    Act("new", "n", "new", "Add a task."),
    Act("run", "N", "run", "Add a task from a prompt, and start an agent on it."),
    Act("dispatch", "d", "dispatch", "Start an agent on the task."),
    Act("message", "m", "message", "Send a message to the agent."),
    Act("hand-off", "h", "hand off", "Replace the agent by a successor that knows what it knew."),
    Act("resume", "r", "resume", "Continue the work of an agent that stopped."),
    Act("retry", "u", "retry", "Open a failed or blocked task again."),
    Act("kill", "x", "end", "End the agent: stop it, or kill it."),
    Act("merge", "M", "merge", "Merge the task's work."),
    Act("land", "L", "land", "Move your branch to the merged work."),
    Act("sweep", "s", "sweep", "Find what was left behind, and release it after asking."),
    Act("graph", "g", "graph", "Draw the graph of the project's tasks."),
    Act("timeline", "t", "timeline", "Draw when agents worked."),
    Act("palette", ":", "palette", "Search the acts that apply now."),
    Act("help", "?", "help", "List all keys."),
    Act("quit", "q ctrl+c", "quit", "Leave the screen. Agents and the coordinator work on."),
    Act("line-down", "j down", "", "Go to the next line.", place="review"),
    Act("line-up", "k up", "", "Go to the line before.", place="review"),
    Act("page-down", "space pagedown ctrl+d", "", "Go a page down.", place="review"),
    Act("page-up", "b pageup ctrl+u", "", "Go a page up.", place="review"),
    Act("next-file", "tab n", "file", "Go to the next file.", place="review"),
    Act("previous-file", "shift+tab p", "", "Go to the file before.", place="review"),
    Act("comment", "c", "comment", "Comment on the line, or change the comment.", place="review"),
    Act("side-by-side", "v", "side by side", "Show the old and the new lines side by side, or in one column.", place="review"),
    Act("since", "i", "since", "Show only what is new since the last verdict, or everything.", place="review"),
    Act("verify", "V", "verify", "Try whether the work merges and passes its verify command.", place="review"),
    Act("accept", "A", "accept", "Accept the work, so that it is merged.", place="review"),
    Act("send-back", "S", "send back", "Send the work back with your comments.", place="review"),
    Act("close", "q escape", "close", "Leave the review. Comments that were not sent are kept until the screen is left.", place="review"),
)  # fmt: skip
_KNOWN = {act.name: act for act in ACTS}


def is_key(word: str) -> bool:
    """Return whether a word names a key: one character or a name like `enter`.

    Before it may stand ctrl+, shift+ and alt+, each once at most and in this order.
    """
    bare = word
    for modifier in _MODIFIERS:
        bare = bare.removeprefix(modifier)
    return bare in NAMED or (len(bare) == 1 and bare.isprintable() and not bare.isspace())


def keys_in_force(given: Mapping[str, object]) -> dict[str, tuple[str, ...]]:
    """Return the keys of every act of the screen: the keys in the settings, else the default ones.

    Faulty entries of the settings are left out. A key that the settings give to one act is taken from the act whose default
    key it is; that act may then have none.
    """
    faulty = {name for name, _why in key_faults(given)}
    right = {name: keys for name, keys in given.items() if name not in faulty}
    taken = {(_KNOWN[name].place, key) for name, keys in right.items() for key in _words(keys)}
    force = _keys_as_given(right)
    for act in ACTS:
        if act.name not in right:
            force[act.name] = tuple(key for key in act.keys if (act.place, key) not in taken)
    return force


def _keys_as_given(given: Mapping[str, object]) -> dict[str, tuple[str, ...]]:
    """Return the keys of every act: those that `given` names, faulty or not, else the default ones."""
    return {act.name: _words(given[act.name]) if act.name in given else act.keys for act in ACTS}


def _words(keys: object) -> tuple[str, ...]:
    """Return the keys in the value that the settings give to an act; () when the value is not a text."""
    return tuple(keys.split()) if isinstance(keys, str) else ()


def key_faults(given: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield (act, why) for each fault in the setting `keys`: unknown acts, wrong keys, and keys that two acts share.

    `given` is the setting, a table of keys by act; (act, why) names the act whose entry is faulty.
    """
    for name, keys in given.items():
        if name not in _KNOWN:
            yield name, f"there is no act {name!r}; {_acts_like(name)}"
        elif not isinstance(keys, str) or not keys.split():
            yield name, f"{name} needs a text with one key or several, like {' '.join(_KNOWN[name].keys)!r}"
        else:
            for why in filter(None, (_why_not(key, _KNOWN[name]) for key in keys.split())):
                yield name, f"{name}: {why}"
    yield from _clashes(given)


def _acts_like(name: str) -> str:
    """Return a question for the act that a mistyped name is most like, or the names of all acts when it is like none."""
    from fleet.model.text.nearest import nearest  # noqa: PLC0415 - only for the message

    near = nearest(name, _KNOWN)
    return f"did you mean {near!r}?" if near else f"there are {', '.join(_KNOWN)}"


def _why_not(key: str, act: Act) -> str:
    """Return why an act cannot have this key; "" when it can."""
    if not is_key(key):
        return f"there is no key {key!r}"
    if key in DIGITS:
        return f"{key} chooses an answer"
    return "escape always ends the filter" if key == "escape" and act.place == "board" else ""


def _clashes(given: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield (act, why) for each key that two acts share in one part of the screen, such as the board or the review.

    `given` is the setting `keys`, a table of keys by act. Of the two acts, the one that the setting names is yielded.
    """
    taken: dict[tuple[str, str], str] = {}
    for name, keys in _keys_as_given(given).items():
        for key in keys:
            other = taken.setdefault((_KNOWN[name].place, key), name)
            if other != name:
                yield name if name in given else other, f"{key!r} is both {other} and {name}"
