"""Probes (measurements of untrained models) about which outputs depend on which inputs."""
