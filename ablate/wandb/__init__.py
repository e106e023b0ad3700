"""The connection to Weights & Biases: log runs during training, upload them later, and read them
back.
"""
