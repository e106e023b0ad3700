"""The losses that training minimises."""
