"""The hot commands use private C modules of CPython where those are as expected, and the public packages where they are not."""

import json
import subprocess
import sys

import pytest

DIALECT = {"engine": "x", "events": {"PostToolUse": "worked"}}
PRIVATE = {
    "_blake2": ["blake2s"],
    "_functools": ["_lru_cache_wrapper"],
    "_json": ["encode_basestring", "make_encoder", "make_scanner"],
    "_signal": ["setitimer", "SIGALRM"],
    "_sqlite3": ["connect", "OperationalError"],
}
CALLED = [("_json", "make_encoder"), ("_json", "make_scanner"), ("_functools", "_lru_cache_wrapper")]
# The packages are imported before anything is hidden: a Python that has no such C module has another one in its place.
RUN = """
import hashlib, json, os, signal, sqlite3, sys, types
how, name, attribute, lock = sys.argv[1:]
original = __import__(name)
del sys.modules["functools"]
if how == "missing":
    sys.modules[name] = None
else:
    sys.modules[name] = changed = types.ModuleType(name)
    changed.__dict__.update({key: value for key, value in vars(original).items() if key != attribute})
    if how == "called":
        setattr(changed, attribute, lambda: None)

from fleet.surfaces.cli.entry import run

for words in (
    ["claim", "a"],
    ["log", "a", "half \\u2192 way"],
    ["artifact", "a", "a.txt", "--json"],
    ["block", "a", "--reason", "x"],
    ["fail", "a", "--reason", "x"],
    ["done", "a"],
):
    assert run(["task", *words]) == 0, words
os.environ["FLEET_DISPATCH_ID"] = "0a1b2c3d"
assert run(["hook", "PostToolUse", "--engine", "x"]) == 0

from fleet.world.files.locks import FileLock

FileLock(lock).take(1)
try:
    FileLock(lock).take(0.01)
except BlockingIOError:
    sys.exit()
sys.exit("two hold one lock")
"""


def cases():
    for name, attributes in PRIVATE.items():
        yield pytest.param("missing", name, "", id=f"{name} is missing")
        for attribute in attributes:
            yield pytest.param("lacking", name, attribute, id=f"{name} lacks {attribute}")
    for name, attribute in CALLED:
        yield pytest.param("called", name, attribute, id=f"{attribute} takes other arguments")


@pytest.mark.alone("it is about what a command needs by itself")
@pytest.mark.parametrize(("how", "name", "attribute"), [*cases()])
def test_the_hot_commands_work_without_a_private_module_of_cpython(how, name, attribute, fleet, tmp_path):
    (fleet.home / "hooks").mkdir()
    (fleet.home / "hooks" / "x.dialect.json").write_text(json.dumps(DIALECT))
    fleet.add("a")
    words = [sys.executable, "-c", RUN, how, name, attribute, str(tmp_path / "lock")]
    done = subprocess.run(words, input="{}", capture_output=True, text=True, cwd=fleet.where, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert '"artifact": "a.txt"' in done.stdout
    assert not (fleet.home / "hooks" / "last-error").exists()
    shown = fleet.show("a")
    assert shown["status"] == "done"
    assert "half → way" in [each["message"] for each in shown["log"]]


def test_a_retry_finds_its_request_whichever_module_made_the_fingerprint(fleet, tmp_path):
    """A key that was used with `_blake2` is known to hashlib, too."""
    fleet.add("a")
    fleet("task", "log", "a", "once", "--key", "k").ok()
    hide = "import hashlib, sys; sys.modules['_blake2'] = None\nfrom fleet.surfaces.cli.entry import run\n"
    words = [sys.executable, "-c", f"{hide}sys.exit(run(['task', 'log', 'a', 'once', '--key', 'k']))"]
    subprocess.run(words, check=True, cwd=fleet.where, capture_output=True)
    assert [each["message"] for each in fleet.show("a")["log"]] == ["once"]
