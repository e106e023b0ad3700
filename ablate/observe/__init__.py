"""Looking into a model: gradients by layer, attention by head, pictures."""
