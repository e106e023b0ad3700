"""The configs of the cells of a sweep."""

from itertools import count, product

import hydra
import pytest
import torch
from hydra._internal.callbacks import Callbacks
from hydra.core.global_hydra import GlobalHydra
from hydra.types import HydraContext, RunMode
from omegaconf import OmegaConf

from ablate.config import CONF
from ablate.sweep.compose import compose

ARMS = ("model/residual=post_ln", "model/residual=pre_ln")


@pytest.fixture
def master(small):
    """What Hydra gives a launcher: its loader, and the config of the sweep."""
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        hydra_instance = GlobalHydra.instance().hydra
        config = hydra_instance.compose_config("config", [*small], run_mode=RunMode.MULTIRUN)
        yield (
            HydraContext(config_loader=hydra_instance.config_loader, callbacks=Callbacks(config)),
            config,
        )


def plain(cell):
    return OmegaConf.to_container(cell.config, resolve=False)


def test_arms_composed_from_shared_changes_are_the_arms_that_hydra_composes(
    master, small, tmp_path
):
    losses = ("cross_entropy", "z_loss")
    jobs = [
        (*small, arm, f"loss={loss}", f"model.d_ff={width}", f"seed={seed}")
        for seed, (arm, loss, width) in enumerate(product(ARMS, losses, (32, 40, 48, 56)))
    ]
    cells = compose(*master, jobs, count(), tmp_path)
    for number in (1, 14):
        (alone,) = compose(*master, [jobs[number]], [number], tmp_path)
        assert plain(cells[number]) == plain(alone)


@pytest.mark.parametrize("key", ["budget.warmup", "model.d_ff"])
def test_a_cell_with_another_value_of_a_nuisance_is_the_cell_that_hydra_composes(
    master, small, tmp_path, key
):
    """A warm-up that does not fit the steps is settled, so a copy would not do."""
    common = [word for word in small if not word.startswith(key)]
    jobs = [
        (*common, arm, f"{key}={value}", f"seed={seed}", "test_splits=[]")
        for arm in ARMS
        for value in (1, 2)
        for seed in (1, 5)
    ]
    cells = compose(*master, jobs, count(), tmp_path, key)
    for number, job in [*enumerate(jobs)][1::3]:
        (alone,) = compose(*master, [job], [number], tmp_path)
        assert plain(cells[number]) == plain(alone)
        assert cells[number].overrides == job
        assert cells[number].seed == alone.seed


def test_the_last_of_two_values_of_a_nuisance_counts(master, small, tmp_path):
    """A tuned value may be the value that the command sets, after another value was tried."""
    given = (*small, "optimizer.lr=0.1")
    jobs = [(*given, f"optimizer.lr={rate}", "seed=1") for rate in (0.2, 0.1)]
    cells = compose(*master, jobs, count(), tmp_path, "optimizer.lr")
    assert [cell.config.optimizer.lr for cell in cells] == [0.2, 0.1]


def test_the_records_of_an_arm_are_those_of_its_runs(master, small, tmp_path):
    from ablate.record.results import Fingerprints
    from ablate.record.training import Record
    from ablate.sweep.preflight import data_key, records_of

    jobs = [(*small, ARMS[0], f"seed={seed}") for seed in (1, 2)]
    cells = compose(*master, jobs, count(), tmp_path)
    text = Fingerprints("text", {})
    data = {data_key(cells[0].config): text}
    records = [record.identity for record in records_of(cells, data)]
    assert records == [Record(cell.task_config(), text, "").identity for cell in cells]
    assert len({*records}) == 2


def test_every_arm_is_composed_once(master, small, tmp_path, monkeypatch):
    context, _ = master
    loader, asked = context.config_loader, []
    load = loader.load_sweep_config
    monkeypatch.setattr(
        loader, "load_sweep_config", lambda *given: asked.append(given) or load(*given)
    )
    jobs = [(*small, arm, f"seed={seed}") for seed in range(5) for arm in ARMS]
    seeds = [cell.config.seed for cell in compose(*master, jobs, count(), tmp_path)]
    assert seeds == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert len(asked) == 2


@pytest.mark.parametrize("able", ["amx_bf16", "avx512_vnni"])
def test_the_cells_of_a_sweep_agree_on_what_auto_is(master, small, tmp_path, monkeypatch, able):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {able: True})
    job = (*small, "trainer.precision=auto", "trainer.accelerator=cpu")
    cells = compose(
        *master, [(*job, arm, f"seed={s}") for arm in ARMS for s in (1, 2)], count(), tmp_path
    )
    precision = "bf16-mixed" if able == "amx_bf16" else "32-true"
    assert [cell.config.trainer.precision for cell in cells] == [precision] * 4
    # a machine that joins later may be another one
    monkeypatch.setattr(torch.cpu, "get_capabilities", dict)
    (child,) = compose(*master, [cells[0].argv], [0], tmp_path)
    assert child.config.trainer.precision == precision
