"""Choose the numerical precision of a run before its identity (config digest) is computed.

`trainer.precision=auto` becomes bfloat16 if the device has fast bfloat16 multiplication, and
float32 otherwise. On other devices, a bfloat16 product is slower than a float32 product because of
conversions. Lightning treats `16-mixed` on a CPU as `bf16-mixed`, and accepts short names such as
`bf16`. The config is set to the precision that will really be used. So this precision becomes part
of the run's identity and of its stored config.
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
    """Set the precision in the config to the value that will be used; print a message once if it
    changed.

    This function must be called before the identity of a run is computed. The main process of a
    sweep calls it for all runs, so that all runs have the same precision.

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
    """Return whether a run with this `trainer.accelerator` trains on the CPU of this machine."""
    import torch  # slow to import, and --help does not need it

    graphics = torch.cuda.is_available() or torch.backends.mps.is_available()
    return accelerator == "cpu" or (accelerator == AUTO and not graphics)


def fastest(accelerator: str) -> tuple[str, str]:
    """Return the fastest precision for a `trainer.accelerator` on this machine, and the reason in
    words.

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
