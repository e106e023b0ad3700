"""Hydra looks for launchers in the namespace package `hydra_plugins` only."""
