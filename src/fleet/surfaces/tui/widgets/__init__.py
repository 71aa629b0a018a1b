"""The widgets of the board: the list of rows, the view of lines, the bars."""
