"""Run the crash harness: `python -m fleet.testing.crash`."""

import sys

from fleet.testing.crash.harness import main

sys.exit(main())
