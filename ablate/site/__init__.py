"""Write all claims, documents and experiments as a folder of web pages that open from disk, without
a network.
"""
