"""Set values of a config that depend on other values or on the machine, before any work.

A scale sets keys of components, such as `optimizer.betas`. If the run has another component without
this key, such as plain gradient descent, the key is dropped, with a message: the user did not write
it. A key that the command, an experiment or the component's own file sets is never dropped, and
`ablate.config.check` rejects it if it is unknown.

A warm-up of the option of `scale` becomes a fraction of the steps if it is as long as the run, such
as 190 steps with `budget.steps=150`; the learning rate would never reach its peak. Without a
registered study, this also happens if it takes over half of the run. All schedules read it from
`budget.warmup`, so arms with and without warm-up still share peak and decay. A warm-up that the
command itself sets is rejected if it is longer than the run.

`trainer.precision=auto` becomes bfloat16 if the device multiplies bfloat16 fast, else float32,
since a bfloat16 product with conversions is slower. Lightning treats `16-mixed` on a CPU as
`bf16-mixed`, and accepts short names such as `bf16`. The config, and so the identity of the run,
has the precision that will really be used.

sacreBLEU's tokeniser `auto` is that of the target language. Source: arXiv:1804.08771, and
sacreBLEU's README for Chinese, Japanese and Korean; flores200's subwords for scripts without spaces
that have no separate tokeniser (arXiv:2207.04672).
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict, read_write

from ablate.config import is_below, labels, leaves, screen
from ablate.config.check import allowed_keys
from ablate.errors import UserError, say_once

AUTO = "auto"
SHORT_NAMES = {"16": "16-mixed", "bf16": "bf16-mixed", "32": "32-true", "64": "64-true"}
# capabilities in torch's list that multiply bfloat16 directly
FAST = {"amx_bf16": "AMX", "avx512_bf16": "AVX-512"}
AMPERE = (8, 0)  # first compute capability with tensor cores for bfloat16


def settle_precision(config: DictConfig) -> None:
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
        reason = f"{name} has {'' if fast else 'no '}tensor cores for bfloat16"
    else:
        # older versions of torch lack this function
        able: Mapping[str, bool] = getattr(torch.cpu, "get_capabilities", dict)()
        units = [unit for flag, unit in FAST.items() if able.get(flag)]
        fast, which = bool(units), " and ".join(units) or f"neither {' nor '.join(FAST.values())}"
        reason = f"this processor multiplies bfloat16 with {which}"
    return "bf16-mixed" if fast else "32-true", reason


WARMUP, SCORED, TEST = "budget.warmup", "batch.scored_tokens", "budget.test_sentences"
SHORT = 300  # a run with fewer steps is short
PER_STEP, LEAST = 20, 1500  # scored tokens of a split per step of a short run, and at least
# a run logs its training loss (and its validation loss, if the command sets the number of steps) at
# so many steps at least, unless the command sets how often
LOGGED, VALIDATED, POINTS = "trainer.log_every_n_steps", "budget.validate_every", 4
SHARE = 4  # number of steps per step of warm-up, as in the scales gpu and smoke
SOURCES = ("experiment", "scale")  # groups whose options set keys of other groups


def settle(config: DictConfig) -> None:
    """Set the precision and the warm-up that a run will use, and turn a screen (a study that
    compares many variants with one baseline) into an ordinary study. The process uses the labels of
    the user's options from then on.

    This function must be called before the identities (config digests) of runs are computed.

    Raises:
        UserError: a screen is invalid, there is no GPU, the command sets a warm-up longer than the
            run, or an override changes nothing.
    """
    words = _overrides(config)
    _refuse_empty(config, words)
    if (hydra := hydra_node(config)) is not None:
        labels.use_labels(labels.stored_labels(hydra, screen.variants(config)))
    if words and GlobalHydra.instance().is_initialized():
        _announce_replaced(config, words, hydra)
        drop_unused(config, hydra)
    screen.expand(config)
    settle_precision(config)
    if config.get("probe") is None and OmegaConf.is_dict(config.get("schedule")):
        planned, typed = _is_planned(config), {*map(_key_of, words)}
        _settle_warmup(config, given=WARMUP in typed, planned=planned)
        if not planned and {SCORED, TEST}.isdisjoint(typed):
            _settle_scored(config)
        _check_short(config)
        if words and not planned:
            most = max(1, -(-config.budget.steps // POINTS))
            for key in ({LOGGED, VALIDATED} if "budget.steps" in typed else {LOGGED}) - typed:
                with read_write(config):
                    OmegaConf.update(config, key, min(OmegaConf.select(config, key), most))


def hydra_node(config: DictConfig) -> Any:
    """Return Hydra's node of a config, or of this process; None without Hydra."""
    node = config.get("hydra")
    return HydraConfig.get() if node is None and HydraConfig.initialized() else node


def is_swept(config: DictConfig) -> bool:
    """Return whether a run is part of a sweep."""
    node = hydra_node(config)
    return node is not None and node.mode == RunMode.MULTIRUN


def _overrides(config: DictConfig) -> list[str]:
    """Return the overrides of a run, including those that a sweep sets for this run."""
    node = hydra_node(config)
    if node is None:
        return []
    words: Any = OmegaConf.to_container(node.overrides.task, resolve=False)
    return [*words]


def _key_of(override: str) -> str:
    return override.lstrip("+~").partition("=")[0]


def _refuse_empty(config: DictConfig, words: list[str]) -> None:
    """Raise UserError for an override such as model.dropout={}, which changes nothing."""
    for word in words:
        key, _, value = word.partition("=")
        if value.replace(" ", "") == "{}" and OmegaConf.select(config, key.lstrip("+"), default={}):
            raise UserError(
                f"{word} changes nothing, because braces add keys to {key} and remove none; "
                f"leave it out, or set {key}.KEY=VALUE"
            )


def _announce_replaced(config: DictConfig, words: list[str], hydra: Any) -> None:
    """Print a message, once, for each option of the command whose keys the scale or the experiment
    overrides: `scale=language optimizer=muon` does not use Muon's learning rate. A tuned key
    is left out, because the runs have other values.
    """
    choices = hydra.runtime.choices
    sources = [f"{name}={choices[name]}" for name in SOURCES if choices.get(name)]
    named = {*map(_key_of, words), OmegaConf.select(config, "study.tune.key")}
    for word in words:
        group, _, option = word.lstrip("+").partition("=")
        if group in SOURCES or choices.get(group) != option:
            continue
        folder, _, place = group.partition("@")
        replaced = []
        for key, value in values_of(hydra, f"{folder}/{option}").items():
            name = f"{place or folder.replace('/', '.')}.{key}"
            current = OmegaConf.select(config, name, default=value)
            # an interpolation follows from other keys
            if name not in named and "${" not in str(value) and current != value:
                replaced.append(f"{name} ({current} instead of {value})")
        if replaced:
            say_once(
                f"{' or '.join(sources)} overrides {word}: {', '.join(replaced)}. To change a "
                "value, add it to the command, or to the variant of a screen"
            )


def _settle_warmup(config: DictConfig, *, given: bool, planned: bool) -> None:
    """Shorten a warm-up that leaves too little of the run; print a message once.

    Args:
        config: the config, which is changed.
        given: whether the command sets `budget.warmup`.
        planned: whether the run belongs to a registered study.

    Raises:
        UserError: the command sets a warm-up longer than the run.
    """
    schedule: Any = OmegaConf.to_container(config.schedule, resolve=False)
    reads = f"${{{WARMUP}}}" in schedule.values()
    warmup, steps = config.budget.warmup, config.budget.steps
    values = {
        "schedule.warmup": schedule.get("warmup"),
        WARMUP: warmup if reads and given else None,
    }
    for key, value in values.items():
        if isinstance(value, int) and value > steps:
            raise UserError(
                f"{key}={value} is more than budget.steps={steps}, so the learning rate would "
                f"never reach its peak: set {key}={steps // SHARE}, or schedule=no_warmup"
            )
    if reads and not given and 0 < steps < (warmup + 1 if planned else 2 * warmup):
        with read_write(config):
            config.budget.warmup = max(1, steps // SHARE)
        say_once(
            f"budget.warmup is {config.budget.warmup} in this run: the {warmup} warm-up steps of "
            f"the scale are too many for budget.steps={steps}"
        )


def _is_planned(config: DictConfig) -> bool:
    """Return whether a run belongs to a registered study, which decides all of its numbers."""
    node = hydra_node(config)
    experiment = node is not None and node.runtime.choices.get("experiment")
    return bool(experiment or (config.study is not None and not config.study.exploratory))


def _settle_scored(config: DictConfig) -> None:
    """Let a short run score only the beginning of each split, because validation and test would
    otherwise take longer than the training; print how much.
    """
    steps = config.budget.steps
    if not 0 < steps < SHORT or config.batch.scored_tokens is not None:
        return
    with read_write(config):
        config.batch.scored_tokens = max(LEAST, PER_STEP * steps)
    say_once(
        f"validation and test score only the first {config.batch.scored_tokens:,} tokens of a "
        f"split, because this run has only {steps} steps; {SCORED}=null scores all"
    )


def _check_short(config: DictConfig) -> None:
    """Raise UserError if the learning rate would not reach its peak within `budget.short` steps."""
    short, warmup = config.budget.short, OmegaConf.select(config, "schedule.warmup")
    if short is not None and isinstance(warmup, int) and warmup > short:
        raise UserError(
            f"budget.short={short} is less than the warm-up of {warmup} steps, so that the rate "
            "of the short run would not reach its peak: "
            f"set budget.short={warmup}" + (f", or budget.warmup={short}" if short > 0 else "")
        )


GROUP = "scale"
# values of files that were read; each run of a sweep asks for the same files
_values: dict[tuple[str, ...], Mapping[str, object]] = {}
_readers: dict[tuple[str, ...], Any] = {}  # by folders


def drop_unused(config: DictConfig, hydra: Any) -> None:
    """Remove every key that only the scale sets and that the chosen component lacks; print each
    key once.

    Args:
        config: the config of a run, which is changed.
        hydra: Hydra's node of the config.
    """
    choices = hydra.runtime.choices
    if not choices.get(GROUP):
        return
    unknown = {*_unknown(config, hydra)}
    experiment = values_of(hydra, f"experiment/{choices.get('experiment')}") if unknown else ()
    elsewhere = [*map(_key_of, hydra.overrides.task), *experiment]
    for key in sorted(unknown):
        if any(is_below(other, [key]) for other in elsewhere):
            continue
        path, _, name = key.rpartition(".")
        component = OmegaConf.select(config, path)
        with read_write(config), open_dict(config):
            del component[name]
        scale = f"{GROUP}={choices[GROUP]}"
        say_once(f"{key} of {scale} is left out, because {component['_target_']} has no {name}")


def _unknown(config: DictConfig, hydra: Any) -> Iterator[str]:
    """Yield every key of the scale that a component of the config does not accept.

    For `model.dropout.rate`, the result may be `model.dropout`.
    """
    for key in values_of(hydra, f"{GROUP}/{hydra.runtime.choices[GROUP]}"):
        if _is_set_by_option(key, hydra):
            continue  # the option accepts the key, so its class need not be imported
        names = key.split(".")
        for end, name in enumerate(names[1:], 1):
            path = ".".join(names[:end])
            node = OmegaConf.select(config, path)
            allowed = allowed_keys(node, path) if OmegaConf.is_dict(node) and name in node else None
            if allowed is not None and name not in allowed:
                yield f"{path}.{name}"


def _is_set_by_option(key: str, hydra: Any) -> bool:
    """Return whether the option that was chosen for the node of a key sets this key itself."""
    choices = hydra.runtime.choices
    path, _, name = key.rpartition(".")
    while path and not choices.get(path.replace(".", "/")):
        path, _, end = path.rpartition(".")
        name = f"{end}.{name}"
    group = path.replace(".", "/")
    return bool(path) and name in values_of(hydra, f"{group}/{choices[group]}")


def values_of(hydra: Any, file: str) -> Mapping[str, object]:
    """Return the values by key that a file of a config group sets, including the files of its
    folder on which it is based; {} if there is no such file.

    Args:
        hydra: Hydra's node of a config, which names the folders.
        file: the group and the name of the file, such as model/norm/rms_norm.
    """
    place = (*(str(source.path) for source in hydra.runtime.config_sources), file)
    if place not in _values:
        loaded = _files(place[:-1], hydra).load_config(file)
        values: dict[str, object] = {}
        for entry in loaded.defaults_list if loaded else ():
            if (path := getattr(entry, "path", "_self_")) != "_self_":
                values |= values_of(hydra, f"{file.rpartition('/')[0]}/{path}")
        _values[place] = values | (leaves(loaded.config) if loaded else {})
    return _values[place]


def _files(folders: tuple[str, ...], hydra: Any) -> Any:
    """Return Hydra's reader of the files in the folders that a command searches."""
    if folders not in _readers:
        loader: Any = GlobalHydra.instance().config_loader()
        words = [*hydra.overrides.hydra, *hydra.overrides.task]
        reader_of = loader._parse_overrides_and_create_caching_repo  # respects searchpath
        _readers[folders] = reader_of(hydra.job.config_name, words)[1]
    return _readers[folders]


USUAL_BLEU = "13a"
BLEU_TOKENIZERS = (AUTO, USUAL_BLEU, "intl", "zh", "ja-mecab", "ko-mecab", "flores200", "char")
# tokenisers by ISO 639 code of two or three letters
BLEU_OF_LANGUAGE = {
    **dict.fromkeys(("zh", "zho", "chi", "cmn", "yue"), "zh"),
    **dict.fromkeys(("ja", "jpn"), "ja-mecab"),
    **dict.fromkeys(("ko", "kor"), "ko-mecab"),
    **dict.fromkeys(("th", "tha", "lo", "lao", "km", "khm", "my", "mya", "bo", "bod"), "flores200"),
}


def bleu_tokenizer(wanted: str, language: str) -> str:
    """Return the name of sacreBLEU's tokeniser: `wanted` or, if that is `auto`, the tokeniser of
    the language (zh for zh-TW).
    """
    if wanted != AUTO:
        return wanted
    return BLEU_OF_LANGUAGE.get(re.split("[-_]", language.lower())[0], USUAL_BLEU)
