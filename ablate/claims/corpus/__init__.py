"""Synthetic corpora, each for one experiment. Each corpus states its chance level (the score of a
predictor without the skill that is tested) and its bound (the best possible score).
"""
