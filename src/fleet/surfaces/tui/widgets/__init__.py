"""What the screen consists of: the list of rows, the view of lines, the bars."""
