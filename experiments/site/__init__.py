"""Write the claims, documents and experiments of the catalogue as web pages that open from disk,
without a network.
"""
