"""Score the model of a finished run on a split of any corpus."""

import torch
from lightning_fabric.utilities import move_data_to_device
from omegaconf import OmegaConf

from ablate.data.module import TextData
from ablate.data.pairs import Corpus
from ablate.data.tokenizer import Given
from ablate.errors import UserError
from ablate.seeding import seed_of
from ablate.train.compatibility import READ, check_sources
from ablate.train.module import text_of
from ablate.train.prepare import make_data
from ablate.train.restore import Restored


def score(run: Restored, corpus: Corpus, split: str, cache_dir: str) -> dict[str, float]:
    """Return every metric that the task computes in a test of the run on this split, by name.

    The vocabulary, the batches, the random draws of the task, the precision and the decoding search
    are those of the run.

    Raises:
        UserError: there is no such split, or its text does not fit the run.
    """
    data = evaluation_data(run, corpus, split, cache_dir)
    task = run.task
    text = text_of(data, split)
    if doubt := task.evaluation(data.languages[1], thorough=False).doubt(text.references[:READ]):
        print(f"warning, {split}: {doubt}", flush=True)
    pairs, _, cut = data.counts[split]
    if cut:
        limit = f"batch.max_length={run.config.batch.max_length} of the run"
        print(f"warning, {split}: cut {cut:,} of {pairs:,} texts, longer than {limit}", flush=True)
    evaluation = task.evaluation(data.languages[1], thorough=True).to(run.device)
    evaluation.begin(text)
    with torch.inference_mode():
        for batch in data.evaluation_loader(split):
            moved = move_data_to_device(batch, run.device)
            with run.precision.forward_context():
                evaluation.update(run.model, moved, run.search, text)
    return evaluation.compute()


def evaluation_data(run: Restored, corpus: Corpus, split: str, cache_dir: str) -> TextData:
    """Return the data of one split, encoded with the vocabulary of a run.

    Raises:
        UserError: there is no such split, or its text does not fit the run.
    """
    if split not in corpus.splits:
        raise UserError(
            f"split={split}: this corpus has no such split; choose {' or '.join(corpus.splits)}"
        )
    check_sources(run.task, corpus)
    if corpus.documents and not run.tokenizers.tgt.verbatim:
        raise UserError(
            "data has documents, but the vocabulary of this run was made from single lines and "
            "has no line feed: choose data=language or data=parallel"
        )
    scheme, batch = Given(run.tokenizers, (split,)), OmegaConf.to_object(run.config.batch)
    seed = seed_of(run.config)
    data = make_data(run.task, corpus, scheme, batch, cache_dir=cache_dir, seed=seed)
    data.check_evaluation(split)
    return data
