"""Load, seal and check the runs of a study, its registration and its analysis log."""
