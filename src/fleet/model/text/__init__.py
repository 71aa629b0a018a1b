"""Text, times and sizes as people write and read them."""
