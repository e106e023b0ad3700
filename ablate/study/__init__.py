"""The engine alone: from evidence to estimate to verdict."""
