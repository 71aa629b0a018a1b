"""Finding and releasing what nobody needs any more."""
