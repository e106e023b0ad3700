"""Executable claims about the Transformer: from a sentence to runs to a verdict."""

__version__ = "0.1.0"
