"""Writes log lines until its standard input ends, and prints each that was acknowledged."""

import select
import sys

from fleet.api.fleet import Fleet


def main(name: str) -> None:
    number = 0
    while not select.select([sys.stdin], [], [], 0)[0]:
        message = f"{name} line {number}"
        with Fleet.open(actor=name) as fleet:
            fleet.tasks.log(project="web", slug="a", message=message)
        sys.stdout.write(f"{message}\n")
        number += 1


main(sys.argv[1])
