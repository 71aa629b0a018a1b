"""What a terminal shows: colour, tables, pictures, progress."""
