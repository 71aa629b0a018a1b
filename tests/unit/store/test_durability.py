"""Durable means synced: counted at the system call."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FLEET = str(Path(sys.executable).with_name("fleet"))

LOG_TWICE = """
import os, sys
from fleet.api.fleet import Fleet
fleet = Fleet.open(actor="t")
fleet.tasks.log(project="p", slug="t", message="warm")
os.write(2, b"<begin>")
fleet.tasks.log(project="p", slug="t", message="counted")
os.write(2, b"<end>")
"""


@pytest.fixture
def scene(home, tmp_path):
    environment = {**os.environ, "FLEET_HOME": str(home)}
    repository = tmp_path / "repository"
    subprocess.run(["git", "init", "-q", repository], check=True)
    for words in (["init", str(repository), "--name", "p"], ["task", "add", "T", "--slug", "t", "-p", "p"]):
        subprocess.run([FLEET, *words], env=environment, check=True, capture_output=True)
    return environment


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed, so system calls cannot be counted")
def test_an_acknowledged_mutation_was_synced_exactly_once(scene):
    words = ["strace", "-f", "-e", "trace=fsync,fdatasync,write", "-s", "20", sys.executable, "-c", LOG_TWICE]
    said = subprocess.run(words, env=scene, check=True, capture_output=True, text=True).stderr
    between = re.search(r"<begin>(.*)<end>", said, re.DOTALL)[1]
    assert len(re.findall(r"f(?:data)?sync\(", between)) == 1


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed, so system calls cannot be counted")
def test_the_command_prints_its_answer_only_after_the_sync(scene):
    words = ["strace", "-f", "-e", "trace=fsync,fdatasync,write", FLEET, "task", "log", "t", "hello", "-p", "p"]
    said = subprocess.run(words, env=scene, check=True, capture_output=True, text=True).stderr
    calls = re.findall(r"(fdatasync|fsync|write)\((\d+)", said)
    answer = calls.index(("write", "1"))
    assert any(name in {"fsync", "fdatasync"} for name, _ in calls[:answer])
