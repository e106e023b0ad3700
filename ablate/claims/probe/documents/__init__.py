"""Check the worked examples and code listings in documents, the texts about the Transformer whose
claims are tested.
"""
