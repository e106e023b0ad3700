"""Perform a run: train and test a model as a config says, and store the results in the run's
folder.
"""
