"""The typed config: its schema, its checks, and from its nodes to objects."""
