"""Probes (measurements of untrained models), each for one experiment, in folders by topic."""
