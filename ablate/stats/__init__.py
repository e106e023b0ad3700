"""Numbers in, intervals and p-values out: numpy and scipy alone, no idea of runs or files."""
