"""The typed config: its schema, its checks, and the construction of objects from config nodes."""
