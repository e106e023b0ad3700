"""Which weights train, and what is added to them."""
