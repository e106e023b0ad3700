"""The launcher and the sweeper of `ablate`, in the namespace that Hydra searches for plugins."""
