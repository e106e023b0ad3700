"""Which precision a run computes in, settled before its identity is taken.

`trainer.precision=auto` is bfloat16 where the device multiplies it fast, else float32. Elsewhere a
product in bfloat16 is slower than one in float32: the numbers are converted first. Lightning runs
`16-mixed` on a processor as `bf16-mixed`, and has short names such as `bf16`. What will run stands
in the config from then on, so it is in the run's identity and record.
"""

from collections.abc import Mapping

from omegaconf import DictConfig, read_write

from ablate.config.notice import say_once
from ablate.errors import UserError

AUTO = "auto"
SHORT_NAMES = {"16": "16-mixed", "bf16": "bf16-mixed", "32": "32-true", "64": "64-true"}
# among what torch lists of a processor: what multiplies bfloat16 itself
FAST = {"amx_bf16": "AMX", "avx512_bf16": "AVX-512"}
AMPERE = (8, 0)  # the first compute capability with tensor cores for bfloat16


def settle(config: DictConfig) -> None:
    """Put the precision that will run into the config; say once where that is not what it says.

    Has to come before the identity of a run is taken. The cells of a sweep are settled by the
    process that deals them, so that all of them agree.

    Raises:
        UserError: a GPU is to train, and there is none to ask.
    """
    if "precision" not in config.trainer:
        return
    given, accelerator = config.trainer.precision, str(config.trainer.get("accelerator", AUTO))
    precision, why = SHORT_NAMES.get(str(given), given), ""
    if precision == AUTO:
        precision, why = fastest(accelerator)
    elif precision == "16-mixed" and trains_on_processor(accelerator):
        precision, why = "bf16-mixed", "float16 with scaled losses needs a GPU"
    with read_write(config):
        config.trainer.precision = precision
    if why:
        say_once(f"trainer.precision={given} is {precision} here: {why}")


def trains_on_processor(accelerator: str) -> bool:
    """Return whether an accelerator of Lightning's is the processor on this machine."""
    import torch  # which --help does without

    graphics = torch.cuda.is_available() or torch.backends.mps.is_available()
    return accelerator == "cpu" or (accelerator == AUTO and not graphics)


def fastest(accelerator: str) -> tuple[str, str]:
    """Return the precision for an accelerator of Lightning's, and why, as half a sentence.

    Raises:
        UserError: the accelerator is a GPU, and there is none.
    """
    import torch  # which --help does without

    on_gpu = accelerator in ("gpu", "cuda")
    if on_gpu and not torch.cuda.is_available():
        raise UserError("trainer.precision=auto: there is no GPU to ask; say 32-true or bf16-mixed")
    if on_gpu or (accelerator == AUTO and torch.cuda.is_available()):
        name, fast = torch.cuda.get_device_name(), torch.cuda.get_device_capability() >= AMPERE
        return _chosen(fast), f"{name} has {'' if fast else 'no '}tensor cores for bfloat16"
    # earlier versions of torch cannot say
    able: Mapping[str, bool] = getattr(torch.cpu, "get_capabilities", dict)()
    units = [unit for flag, unit in FAST.items() if able.get(flag)]
    if units:
        return _chosen(True), f"this processor multiplies bfloat16 with {' and '.join(units)}"
    lacking = " nor ".join(FAST.values())
    return _chosen(False), f"this processor multiplies bfloat16 with neither {lacking}"


def _chosen(fast: bool) -> str:
    return "bf16-mixed" if fast else "32-true"
