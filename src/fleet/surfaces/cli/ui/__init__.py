"""What commands show on a terminal: colours, tables, drawings, progress."""
