"""`fleet demo`, the first thing that many people see of fleet: all work is merged, and it leaves nothing behind."""

import os
import subprocess

from staging.stage import FLEET


def test_the_demonstration_merges_all_recovers_from_its_mishaps_and_leaves_nothing(tmux, tmp_path):
    around = {**os.environ, "HOME": str(tmp_path / "ann"), "TMPDIR": str(tmp_path / "tmp")}
    for name in ("ann", "tmp"):
        (tmp_path / name).mkdir()
    done = subprocess.run([FLEET, "demo"], cwd=tmp_path, env=around, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    *_, leaked, _hint = done.stdout.splitlines()
    assert leaked == "0 leaked"
    counts = [line.split() for line in done.stdout.splitlines() if line.startswith("tasks ")]
    assert [row[:3] for row in counts] == [["tasks", "done", "12"], ["tasks", "merged", "12"]]
    for mishap in (
        "failed, exit status 137",
        "killed: it hangs",
        "its dispatcher was killed half-way",
        "had uncommitted work",
    ):
        assert mishap in done.stdout
    assert os.listdir(tmp_path / "ann") == []
    assert os.listdir(tmp_path / "tmp") == []
