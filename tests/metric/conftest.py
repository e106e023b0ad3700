import random

import pytest


@pytest.fixture(scope="session")
def corpus() -> tuple[list[str], list[str]]:
    """Hypotheses and references of 61 sentences: good, poor, empty and very short ones."""
    rng = random.Random(1)
    words = ["Der", "Hund", "läuft", "schnell", "über", "die", "Straße", "3,5", "und", "bellt"]
    references = [" ".join(rng.choices(words, k=rng.randint(1, 12))) + "." for _ in range(61)]
    hypotheses = [
        " ".join(word if rng.random() < 0.7 else rng.choice(words) for word in line.split())
        for line in references
    ]
    hypotheses[2] = hypotheses[2].upper()
    hypotheses[3], hypotheses[17], hypotheses[20] = "", "Hund", " "
    return hypotheses, references
