"""The checks of `ablate doctor`: machine, libraries, folders and W&B."""
