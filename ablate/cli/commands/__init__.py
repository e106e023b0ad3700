"""One module per command: `ablate NAME` is the module NAME of this folder.

Its docstring is the command's help, `add_arguments(parser)` declares its arguments, and
`run(arguments)` does the work. The help imports every module, so each imports what is slow to
import only inside `run`; one that does says in `FIRST` what a terminal shows until then.
"""
