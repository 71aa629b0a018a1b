"""The hot commands use private C modules of CPython where those are as expected, and the public packages where they are not."""

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[3] / "src/fleet"
LAUNCHER = SOURCE.parents[1] / "scripts/fleet"
# Python's manual describes `_thread`; `__future__` is no C module.
PUBLIC = {"_thread", "__future__"}
DIALECT = {"engine": "x", "events": {"PostToolUse": "worked"}}
PRIVATE = {
    "_blake2": ["blake2s"],
    "_frozen_importlib_external": ["MAGIC_NUMBER"],
    "_functools": ["_lru_cache_wrapper"],
    "_imp": ["_fix_co_filename"],
    "_json": ["encode_basestring", "encode_basestring_ascii", "make_encoder", "make_scanner"],
    "_signal": ["setitimer", "SIGALRM"],
    "_socket": ["socket", "AF_UNIX"],
    "_sqlite3": ["connect", "OperationalError"],
}
CALLED = [("_json", "make_encoder"), ("_json", "make_scanner"), ("_functools", "_lru_cache_wrapper")]
# The packages are imported before anything is hidden: a Python that has no such C module has another one in its place.
HIDE = """
import hashlib, importlib.util, json, os, signal, socket, sqlite3, sys, threading, types

def hide(how, name, attribute):
    original = __import__(name)
    if how == "missing":
        sys.modules[name] = None
        return
    sys.modules[name] = changed = types.ModuleType(name)
    changed.__dict__.update({key: value for key, value in vars(original).items() if key != attribute})
    if how == "called":
        setattr(changed, attribute, lambda: None)
"""
RUN = f"""{HIDE}
how, name, attribute, place = sys.argv[1:]
del sys.modules["functools"]
hide(how, name, attribute)

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

from fleet.fast import encode_ascii

assert encode_ascii({{"a": "\\u2192", "b": [1, None]}}) == json.dumps({{"a": "\\u2192", "b": [1, None]}})

from fleet.surfaces.cli.hot.by_daemon import _Address, exchange

def answer():
    connection = listener.accept()[0]
    connection.sendall(b"{{}}\\n" + connection.recv(100))
    connection.close()

with socket.socket(socket.AF_UNIX) as listener, _Address(place + "/daemon.sock") as address:
    listener.bind(address)
    listener.listen()
    threading.Thread(target=answer, daemon=True).start()
    assert exchange(place + "/daemon.sock", b'{{"id": 1}}\\n') == {{"id": 1}}

from fleet.world.files.locks import FileLock

FileLock(place + "/lock").take(1)
try:
    FileLock(place + "/lock").take(0.01)
except BlockingIOError:
    sys.exit()
sys.exit("two hold one lock")
"""
# Python runs this file before everything else when its folder is on PYTHONPATH.
AT_START = f"""{HIDE}
for name in os.environ["HIDDEN"].split():
    hide("missing", name, "")
del sys.modules["functools"]
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
    words = [sys.executable, "-c", RUN, how, name, attribute, str(tmp_path)]
    done = subprocess.run(words, input="{}", capture_output=True, text=True, cwd=fleet.where, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert '"artifact": "a.txt"' in done.stdout
    assert not (fleet.home / "hooks" / "last-error").exists()
    shown = fleet.show("a")
    assert shown["status"] == "done"
    assert "half → way" in [each["message"] for each in shown["log"]]


@pytest.fixture(scope="module")
def bundled(tmp_path_factory):
    """A folder with fleet and its bundle."""
    place = tmp_path_factory.mktemp("bundled")
    shutil.copytree(SOURCE, place / "fleet", ignore=shutil.ignore_patterns("__pycache__"))
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"PYTHONPATH": str(place)}
    write = "from fleet import bundle_writing; bundle_writing.write()"
    for words in (["-m", "compileall", "-q", str(place / "fleet")], ["-c", write]):
        subprocess.run([sys.executable, *words], env=environment, check=True)
    return place


@pytest.mark.alone("it is about what a command needs by itself")
@pytest.mark.slow("compiles all modules once")
@pytest.mark.parametrize("hidden", [*PRIVATE, " ".join(PRIVATE)], ids=[*PRIVATE, "all"])
def test_the_launcher_and_its_bundle_work_without_a_private_module_of_cpython(hidden, fleet, bundled, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(AT_START)
    fleet.add("a")
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{bundled}", "HIDDEN": hidden, "FLEET_DIRECT": "1"}
    for words in (["log", "a", "begun"], ["artifact", "a", "a.txt"], ["list"], ["done", "a"]):
        command = [sys.executable, "-X", "importtime", LAUNCHER, "task", *words]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=fleet.where, check=False)
        assert done.returncode == 0, done.stderr
        imports = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
        assert "fleet.bundle" in imports
        assert "fleet.surfaces.cli.entry" not in imports, "it comes from a group of the bundle"
    shown = fleet.show("a")
    assert (shown["status"], shown["log"][0]["message"]) == ("done", "begun")


def test_no_module_but_one_imports_a_private_one():
    """So a change of CPython is met in one place."""
    found = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module]
            found |= {(path.name, name) for name in names if name.startswith("_") and name not in PUBLIC}
    assert {name for name, _ in found} == {"fast.py"}, found


def test_a_retry_finds_its_request_whichever_module_made_the_fingerprint(fleet, tmp_path):
    """A key that was used with `_blake2` is known to hashlib, too."""
    fleet.add("a")
    fleet("task", "log", "a", "once", "--key", "k").ok()
    hide = "import hashlib, sys; sys.modules['_blake2'] = None\nfrom fleet.surfaces.cli.entry import run\n"
    words = [sys.executable, "-c", f"{hide}sys.exit(run(['task', 'log', 'a', 'once', '--key', 'k']))"]
    subprocess.run(words, check=True, cwd=fleet.where, capture_output=True)
    assert [each["message"] for each in fleet.show("a")["log"]] == ["once"]
