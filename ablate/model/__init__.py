"""Define the models: Transformers, models of one stack, and recurrent models.

A factor of a Transformer, such as its norm, has a folder with a module for each option.

Letters of shapes in annotations: B batch, S source length, T target length, L either length, Q/K
query/key length, H heads, E width of a head, W width of a value, D d_model, F d_ff, V vocabulary, N
rows of a flat list, M sentences, R decoder rows (a row for each hypothesis of each sentence). Masks
are boolean and called `keep`: True = may attend.
"""
