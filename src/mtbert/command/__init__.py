"""The command line: a program's start, its arguments, its errors and what only one process may do."""
