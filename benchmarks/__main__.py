"""python -m benchmarks [--smallest] [name …]: all of them, or those named.

--smallest runs each at its smallest size: its figures mean nothing, but it shows that the benchmark still runs.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from time import perf_counter

from benchmarks.processes import ROOT, compile_bytecode

NAMES = (
    "start",
    "mutations",
    "crowd",
    "documents",
    "scale",
    "others",
    "dispatching",
    "resuming",
    "jobs",
    "daemon",
    "screen",
)
SMALLEST = "--smallest"


def main() -> int:
    """Run the wanted benchmarks one after the other, each in a temporary folder; print what missed its target.

    Return exit code 0, also when something missed. Exit the program when a benchmark is not known.
    """
    wanted = [word for word in sys.argv[1:] if word != SMALLEST] or list(NAMES)
    if unknown := set(wanted) - set(NAMES):
        sys.exit(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    for name in [name for name in os.environ if name.startswith("FLEET_")]:
        del os.environ[name]  # it may run inside an agent of a real fleet, and must not know
    compile_bytecode()
    started = perf_counter()
    smallest = SMALLEST in sys.argv[1:]
    misses = [miss for name in wanted for miss in measure(name, smallest=smallest)]
    print(f"{len(misses)} missed their target, {perf_counter() - started:.0f} s", *misses, sep="\n  ")
    return 0


def measure(name: str, *, smallest: bool = False) -> list[str]:
    """Run one benchmark, with `smallest` at its smallest size, and print its tables.

    Return a line for each row that missed its target.
    """
    build = ROOT / ".build"  # on the disk of the repository: /tmp may be memory, where a sync costs nothing
    build.mkdir(exist_ok=True)
    module = import_module(f"benchmarks.{name}")
    if smallest:
        vars(module).update(module.SMALLEST)
    misses = []
    with tempfile.TemporaryDirectory(prefix=f"bench-{name}-", dir=build) as directory:
        for table in module.run(Path(directory)):
            print(table, flush=True)
            misses += table.misses
    return misses


if __name__ == "__main__":
    sys.exit(main())
