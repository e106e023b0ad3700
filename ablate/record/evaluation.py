"""Store the results of one evaluation of a trained run.

results/runs/<training identity>/tests/<identity>/
    config.yaml     the config keys that affect only testing
    identity.json   everything from which the identity, a hash, is computed
    test.hyp        translations, one line per sentence
    test.stats.npz  statistics of each sentence
    samples.json    texts that a language model generated
    result.json     status and scores; exists only when the evaluation has ended
"""

import json
from collections.abc import Mapping, Sequence

import numpy as np
from omegaconf import DictConfig

from ablate.record import identity
from ablate.record.arrays import write_arrays
from ablate.record.files import write_json, write_text
from ablate.record.part import RecordFolder
from ablate.record.types import EvaluationParts


class EvaluationRecord(RecordFolder):
    """The folder of one evaluation, inside the folder of its training run."""

    parts: EvaluationParts
    kept = (*RecordFolder.kept, "*.hyp", "*.stats.npz", "samples.json")

    def __init__(
        self, config: DictConfig, training: RecordFolder, tests: Mapping[str, str]
    ) -> None:
        parts = identity.evaluation_parts(config, training.identity, tests)
        super().__init__(training.folder / "tests", parts)

    def begin(self) -> None:
        """Start to measure time, empty the folder of the evaluation, and write the config and the
        identity of the evaluation into the folder.
        """
        self._start()
        if self.writes:
            self.clear()
            self.describe(self.parts["config"])

    def keep(
        self,
        split: str,
        lines: list[str],
        statistics: dict[str, np.ndarray],
        groups: Sequence[str] | None = None,
    ) -> None:
        """Save the translations of a split (if there are any) and its statistics.

        Args:
            split: name of the split.
            lines: translations, one per sentence; empty for a task without translations.
            statistics: arrays with one row per sentence, by name.
            groups: name of the group of each sentence, if the corpus defines groups.
        """
        if not self.writes:
            return
        arrays = dict(statistics)
        if groups is not None:
            arrays["groups"] = np.unique(list(groups), return_inverse=True)[1]
        if lines:
            write_text(self.folder / f"{split}.hyp", "".join(f"{line}\n" for line in lines))
        write_arrays(self.folder / f"{split}.stats.npz", arrays)

    def keep_samples(self, texts: list[str]) -> None:
        """Save texts that the model generated."""
        if self.writes:
            write_json(self.folder / "samples.json", texts)

    def samples(self) -> list[str]:
        """Return the texts that the model generated; an empty list if there are none."""
        path = self.folder / "samples.json"
        texts: list[str] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
        return texts
