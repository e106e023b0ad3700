"""Positions whose size is learned."""
