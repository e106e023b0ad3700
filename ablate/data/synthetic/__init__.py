"""Tasks whose solution is known: pairs that a rule makes, with their chance level and bound."""
