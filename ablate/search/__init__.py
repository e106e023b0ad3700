"""Search algorithms, such as greedy or beam search, which translate sources with a model."""
