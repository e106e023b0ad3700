"""Choose the precision of a run before its identity is computed.

`trainer.precision=auto` is bfloat16 if the device has fast bfloat16 multiplication, and float32
otherwise. Without it, a bfloat16 product is slower than a float32 product because of conversions.
Lightning runs `16-mixed` on a processor as `bf16-mixed`, and has short names such as `bf16`. The
config is set to the precision that will be used, which becomes part of the run's identity and
record.
"""

from collections.abc import Mapping

from omegaconf import DictConfig, read_write

from ablate.config.notice import say_once
from ablate.errors import UserError

AUTO = "auto"
SHORT_NAMES = {"16": "16-mixed", "bf16": "bf16-mixed", "32": "32-true", "64": "64-true"}
# capabilities in torch's list that multiply bfloat16 directly
FAST = {"amx_bf16": "AMX", "avx512_bf16": "AVX-512"}
AMPERE = (8, 0)  # first compute capability with tensor cores for bfloat16


def settle(config: DictConfig) -> None:
    """Set the config to the precision that will be used; print a message once if it changed.

    This must precede the computation of a run's identity. The cells of a sweep are settled by the
    process that distributes them, so that all of them agree.

    Raises:
        UserError: the config selects a GPU, but there is none.
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
    """Return whether one of Lightning's accelerators is the processor on this machine."""
    import torch  # slow to import, and --help does not need it

    graphics = torch.cuda.is_available() or torch.backends.mps.is_available()
    return accelerator == "cpu" or (accelerator == AUTO and not graphics)


def fastest(accelerator: str) -> tuple[str, str]:
    """Return the precision for one of Lightning's accelerators, and the reason in words.

    Raises:
        UserError: the accelerator is a GPU, but there is none.
    """
    import torch  # slow to import, and --help does not need it

    on_gpu = accelerator in ("gpu", "cuda")
    if on_gpu and not torch.cuda.is_available():
        raise UserError("trainer.precision=auto: there is no GPU; set 32-true or bf16-mixed")
    if on_gpu or (accelerator == AUTO and torch.cuda.is_available()):
        name, fast = torch.cuda.get_device_name(), torch.cuda.get_device_capability() >= AMPERE
        return _chosen(fast), f"{name} has {'' if fast else 'no '}tensor cores for bfloat16"
    # older versions of torch lack this function
    able: Mapping[str, bool] = getattr(torch.cpu, "get_capabilities", dict)()
    units = [unit for flag, unit in FAST.items() if able.get(flag)]
    if units:
        return _chosen(True), f"this processor multiplies bfloat16 with {' and '.join(units)}"
    lacking = " nor ".join(FAST.values())
    return _chosen(False), f"this processor multiplies bfloat16 with neither {lacking}"


def _chosen(fast: bool) -> str:
    return "bf16-mixed" if fast else "32-true"
