"""Hydra looks for launchers and sweepers in the namespace package `hydra_plugins` only."""
