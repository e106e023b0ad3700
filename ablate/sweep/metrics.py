"""List the metrics that a run can have, to check the metrics of claims before the run."""

from ablate.config.hints import suggestion
from ablate.errors import UserError
from ablate.evidence.outcome import UNSTABLE, VAL_NLL, threshold
from ablate.metric.derived import derived_names
from ablate.model.base import Model
from ablate.model.residual.base import Residual
from ablate.observe.sublayers import NAMES
from ablate.train.job import Job

TRAINED = ("unigram_nll", "parameters", "steps")
KNOWN = tuple(f"{level}/{name}" for level in ("chance", "bound") for name in ("nll", "accuracy"))


def metric_names(job: Job, model: Model) -> set[str]:
    """Return the names of all metrics that a run of this job with this model can have."""
    if job.probe is not None:
        return {"parameters", *(f"probe/{name}" for name in job.probe.measures)}
    layers = [name for name, _ in model.layers()]
    ratios = {f"{layer.partition('.')[0]}_ratio" for layer in layers}
    gradients = {
        f"gradient/{when}/{part}" for when in ("first", "last") for part in (*layers, *ratios)
    }
    scored = job.task.metrics
    tested = [*scored, *job.metrics]
    scores = {f"{split}/{name}" for split in job.config.test_splits for name in tested}
    validated = {f"val/{name}" for name, metric in scored.items() if metric.split == "val"}
    measured = {f"measure/{name}" for name in job.measure.measures} if job.measure else set()
    sublayers = NAMES if any(isinstance(part, Residual) for part in model.modules()) else ()
    seen = {*gradients, *sublayers, *measured}
    read = {*scores, *derived_names(scores), *validated}
    return {*TRAINED, *KNOWN, *UNSTABLE, *seen, *read}


def check_metric(key: str, metric: str, measured: set[str]) -> None:
    """Raise UserError for a metric that no run has; the message suggests the most similar metric.

    Args:
        key: the config key that names the metric, for the message.
        metric: the metric.
        measured: all metrics that runs have.
    """
    if metric in measured or (threshold(metric) and VAL_NLL in measured):
        return
    # without metrics of single layers
    shown = sorted(name for name in measured if not name[-1].isdigit())
    hint = suggestion(metric, sorted(measured))
    raise UserError(f"{key}={metric} is measured in no run; {hint}allowed is {', '.join(shown)}")
