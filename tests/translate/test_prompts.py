"""How a language model reads a prompt, and how its continuation becomes text."""

import pytest
import torch
from pytorch_lightning.plugins.precision import Precision

LINES = ["the cat sat", "a dog ran"] * 20
LATER = ["Ann:\nthe cat", "Bob:\na dog"] * 20


@pytest.fixture
def make():
    """Build a writer whose model always generates the first token of a given text."""
    from ablate.data.corpus import SEPARATORS
    from ablate.data.scheme import Byte, Char, Word
    from ablate.data.tokenizer import Tokenizers
    from ablate.model.base import Model
    from ablate.search import Sampling
    from ablate.task.texts import LanguageModel
    from ablate.train.apply import Writer

    class Recorder(Model):
        """A model that stores the tokens that it reads, and always generates the same token."""

        def __init__(self, token, size):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(1))
            self.logits = torch.nn.functional.one_hot(torch.tensor(token), size).float()

        def forward(self, inputs):
            self.tokens = inputs.tokens.tolist()
            return inputs.tokens[..., None].float()

        def head(self, states):
            return self.logits.expand(len(states), -1)

    schemes = {"word": Word, "char": Char}

    def make(scheme, texts, rule, text, packed=True):
        limits = {} if scheme == "byte" else {"vocab_size": None}
        kind = schemes.get(scheme, Byte)(joint=True, **limits)
        vocabulary = Tokenizers.train(kind, ([], texts), documents=rule is not None).tgt
        model = Recorder(vocabulary.encode_batch([text])[0][0], vocabulary.size)
        task = LanguageModel(attention="context")
        separator = SEPARATORS[rule or "line"]
        writer = Writer(model, vocabulary, task, 99, packed, Precision(), separator)

        def write(prompt):
            return writer(prompt, count=1, tokens=2, sampling=Sampling(0, None), seed=1)[0]

        return writer, write

    return make


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize(
    ("prompt", "text"), [("the", " sat sat"), ("the  cat", " sat sat"), ("", "sat sat")]
)
def test_the_space_after_the_prompt_is_kept(make, packed, prompt, text):
    _, write = make("word", LINES, None, "sat", packed)
    assert write(prompt) == text


@pytest.mark.parametrize(("rule", "end"), [("paragraph", True), ("file", False)])
def test_blank_lines_of_a_prompt_end_documents_if_they_did_in_training(make, rule, end):
    from ablate.data import EOS
    from ablate.train.apply import read_prompt

    writer, write = make("char", LATER, rule, "d")
    prompt = read_prompt(b"Ann:\nthe cat\n\nBob:\n", writer)
    assert prompt == "Ann:\nthe cat\n\nBob:\n" and write(prompt) == "dd"
    assert writer.model.tokens[0][1:].count(EOS) == end
