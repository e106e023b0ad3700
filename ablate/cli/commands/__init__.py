"""One module per command: the command `ablate NAME` is the module NAME of this folder.

A module's docstring is the command's help, `add_arguments(parser)` declares its arguments, and
`run(arguments)` does the work. `ablate --help` imports every module, so a module imports slow
packages only inside `run`. Such a module has a constant `FIRST`: the text that a terminal shows
during these imports.
"""
