"""The tree in which work is merged and verified: a bare one that is removed, or a prepared one that is kept (warm)."""
