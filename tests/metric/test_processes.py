"""Two real processes must give the same last bit as one."""

import multiprocessing
from pathlib import Path

import torch

from ablate.metric.corpus import CorpusBleu, CorpusChrf, Scoring, Tokenised
from ablate.task import Calibration, TokenMean


def score(corpus, rank: int, world: int) -> list[float]:
    """Deal batches of five sentences to the ranks and return all scores."""
    texts = [CorpusBleu(Scoring()), CorpusBleu(Tokenised("de")), CorpusChrf()]
    nll, calibration = TokenMean(), Calibration()
    hypotheses, references = corpus
    for batch in range(rank, 13, world):
        rows = slice(5 * batch, 5 * batch + 5)
        for metric in texts:
            metric.update(metric.statistics(hypotheses[rows], references[rows]))
        nll.update(torch.tensor(1 / (batch + 0.3)), 100 + batch)
        confidence = torch.rand(700, generator=torch.Generator().manual_seed(batch))
        calibration.update(confidence, confidence > 0.3)
    scores = [metric.compute() for metric in (*texts, nll)] + [*calibration.compute().values()]
    return [value.item() for value in scores]


def work(rank: int, store: Path, corpus, results) -> None:
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{store}", rank=rank, world_size=2
    )
    results.put(score(corpus, rank, 2))
    torch.distributed.destroy_process_group()


def test_one_and_two_processes_agree_to_the_last_bit(corpus, tmp_path, monkeypatch):
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
    # fork: a fresh interpreter would spend seconds on imports
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    args = (tmp_path / "store", corpus, results)
    workers = [context.Process(target=work, args=(rank, *args)) for rank in range(2)]
    for worker in workers:
        worker.start()
    both = [results.get() for _ in workers]
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0]
    assert both[0] == both[1] == score(corpus, 0, 1)
    assert all(value > 0 for value in both[0])
