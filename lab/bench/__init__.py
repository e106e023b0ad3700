"""Throughput, measured beside a hand-written loop around torch's nn.Transformer."""
