"""The commands about tasks: task, add, review, and the agents' log, artifact, done, fail, block."""
