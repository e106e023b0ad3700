"""The command line: parse the arguments of `ablate`, run a command, and print its output."""
