"""Log sample translations at every validation, always of the same sentences."""

from ablate.train.module import Training

KEY = "val/translations"
COLUMNS = ["line", "source", "reference", "hypothesis"]


def translations(task: Training, count: int) -> list[list[int | str]]:
    """Return a row for each of the first `count` validation lines: line number, source, reference
    and translation.
    """
    batch = task.data.first_lines("validation", count)
    outputs = task.validation_search(task.model, batch.inputs.src.to(task.device))
    hypotheses = task.data.tokenizers.tgt.decode_lines(outputs)
    sources, references = task.data.sources("validation"), task.data.references("validation")
    return [
        [line, sources[line], references[line], hypothesis]
        for line, hypothesis in zip(batch.lines.tolist(), hypotheses, strict=True)
    ]
