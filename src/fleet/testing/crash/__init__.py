"""The crash harness: kill a verb around each of its effects, recover, and check that nothing is lost or left."""
