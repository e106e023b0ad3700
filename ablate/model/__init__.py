"""Define the models (Transformer, single stack, recurrent), with one folder for each factor of a
Transformer.

Shapes in annotations: B batch, S source length, T target length, L either, Q/K query/key length, H
heads, E width of a head, D d_model, F d_ff, V vocabulary, N rows of a flat list, R decoder rows
(sentence x beam), M sentences. Masks are boolean and called `keep`: True = may attend.
"""
