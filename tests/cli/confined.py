"""Runs a program under narrower limits: `python confined.py [file-size=BYTES] [no-root-powers] -- PROGRAM WORD…`.

A launcher of its own, because `preexec_fn` is not safe in a process that has threads.
"""

import ctypes
import os
import resource
import sys

PR_CAPBSET_DROP = 24
CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 1, 2


def limit_file_size(size: int) -> None:
    """Every file that grows beyond fails to, as on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def drop_root_powers() -> None:
    """Let permissions hold for root too, from the next program on."""
    if os.geteuid() == 0 and sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        for power in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
            if libc.prctl(PR_CAPBSET_DROP, power, 0, 0, 0) != 0:
                raise OSError(ctypes.get_errno(), "cannot drop root's powers")


def main() -> None:
    split = sys.argv.index("--")
    for order in sys.argv[1:split]:
        if order == "no-root-powers":
            drop_root_powers()
        else:
            limit_file_size(int(order.removeprefix("file-size=")))
    program = sys.argv[split + 1 :]
    os.execv(program[0], program)


main()
