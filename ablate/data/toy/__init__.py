"""The built-in corpus: two invented languages, Mirel and Sodak, made from one grammar.

Read in this order: `lexicon` (the words), `tree` (what a sentence means), `speaker` (meanings
drawn at random), `mirel` and `sodak` (a meaning put into words), `corpus` (splits).
`python -m lab.toy` prints one sentence pair of each construction.
"""
