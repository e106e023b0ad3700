"""Probes (measurements of untrained models) about layers, norms, embeddings and losses."""
