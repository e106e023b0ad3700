"""Sample translations at every validation, always of the same sentences."""

import pytorch_lightning as pl
from pytorch_lightning.callbacks import Callback
from pytorch_lightning.loggers import WandbLogger
from pytorch_lightning.utilities import rank_zero_only

from ablate.train.module import Training

KEY = "val/translations"
COLUMNS = ["line", "source", "reference", "hypothesis"]


class Samples(Callback):
    """Logs a table of the first `count` lines of validation, translated as one batch."""

    def __init__(self, logger: WandbLogger, count: int) -> None:
        self.logger = logger
        self.count = count

    @rank_zero_only
    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Log the table."""
        if isinstance(pl_module, Training) and pl_module.task.generates:
            rows = translations(pl_module, self.count)
            self.logger.log_table(KEY, COLUMNS, rows, step=trainer.global_step)


def translations(task: Training, count: int) -> list[list[int | str]]:
    """Line number, source, reference and translation of the first lines of validation."""
    batch = task.data.first_lines("validation", count)
    found = task.validation_search(task.model, batch.inputs.src.to(task.device))
    hypotheses = task.data.tokenizers.tgt.decode_batch(found)
    sources, references = task.data.sources("validation"), task.data.references("validation")
    return [
        [line, sources[line], references[line], hypothesis]
        for line, hypothesis in zip(batch.lines.tolist(), hypotheses, strict=True)
    ]
