"""Plugins of `ablate`, in the namespace that Hydra searches: launcher, sweeper, catalogue."""
