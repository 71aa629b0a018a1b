"""The demonstrations that `fleet demo` runs."""
