"""The machine: processor, precision and GPU; a program's start, errors and end; what only one process may do."""
