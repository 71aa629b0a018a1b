"""Python imports this at its start where the tests put this folder on PYTHONPATH: so programs that tests start are audited too."""

import effect_audit

effect_audit.install()
