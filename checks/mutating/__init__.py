"""Break the source on purpose and see whether the tests of the broken promise notice. `checks/mutate.py` is the command."""
