"""What is true: pure values, tables of steps, decisions. No clock, no files, no database."""

VERSION = "0.1.0"
