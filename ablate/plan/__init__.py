"""What a sweep will cost and what it can show, said before it starts."""
