"""The table of a comparison is drawn from what W&B's own client wrote offline."""

import wandb

from lab.wandb_table import rows, run_of


def test_a_row_has_the_settings_and_the_scores_of_its_run(tmp_path):
    for seed, nll in enumerate((2.0, 4.0)):
        settings = wandb.Settings(mode="offline", silent=True, reinit="create_new")
        config = {"arm": "learned", "seed": seed, "model/position": "learned", "long": "x" * 70_000}
        run = wandb.init(dir=tmp_path, name=f"seed {seed}", config=config, settings=settings)
        scores = {"val/nll": nll, "test/nll": nll, "test/bleu": 0.5}
        run.summary.update({"status": "finished", **scores})
        run.finish()
    wandb.teardown()  # W&B's process has then written everything
    read = [run_of(path) for path in sorted(tmp_path.glob("wandb/offline-run-*/*.wandb"))]
    of_arm, *of_runs = rows(read)
    assert of_arm[1:] == ["learned", "-", "learned", "finished", "3", "3", "0.5"]
    assert sorted(row[2] for row in of_runs) == ["0", "1"]
