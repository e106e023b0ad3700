"""What a user gets who installs the package: imports, help, a wheel, variants of their own."""

import json
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def python(*arguments, executable=sys.executable, **options):
    return subprocess.run([executable, *arguments], capture_output=True, text=True, **options)


HELP = "import sys; sys.argv = ['ablate', '--help']; import ablate.__main__ as m; m.main()"
AT_EXIT = "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr));"
# each takes a tenth of a second to import, or brings in one that does
HEAVY = {
    *("torch", "pytorch_lightning", "lightning_fabric", "torchmetrics", "numpy", "scipy", "pandas"),
    *("wandb", "matplotlib", "sacrebleu", "tokenizers", "rich", "jinja2"),
}


@pytest.mark.parametrize("code", ["import ablate", HELP], ids=["import", "help"])
def test_start_is_quick_because_nothing_heavy_is_imported(code):
    done = python("-c", AT_EXIT + code, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    imported = {name.partition(".")[0] for name in done.stderr.split()}
    assert "ablate" in imported
    assert not HEAVY & imported


def test_the_levels_of_all_groups_are_listed():
    printed = python("-m", "ablate", "options", cwd=ROOT).stdout
    for part in ("data:", "model/position:", "  rotary ", "experiment:", "preln_vs_postln"):
        assert part in printed


def test_the_levels_of_one_group_are_listed_alone(command):
    status, printed, _ = command("options", "model/position")
    assert status == 0 and "  rotary " in printed
    assert [line for line in printed.splitlines() if not line.startswith(" ")] == [
        "model/position:"
    ]
    assert command("options", "experiment")[1].startswith(
        "experiment: the files in conf/experiment"
    )


@pytest.mark.parametrize(
    ("group", "hint"),
    [
        ("position", "did you mean model/position?"),
        ("model/posision", "did you mean model/position"),
        ("xyzzy", "xyzzy: `ablate options` lists all"),
        ("model/position=rotary", "did you mean model/position or"),
    ],
)
def test_a_group_that_does_not_exist_is_named_with_its_neighbours(command, group, hint):
    status, _, error = command("options", group)
    assert (status, error.count("\n")) == (2, 1)
    assert hint in error


def test_the_page_of_levels_is_what_the_command_writes(command, tmp_path):
    assert command("options", f"to={tmp_path / 'options.md'}")[0] == 0
    made = (tmp_path / "options.md").read_text()
    assert made == (ROOT / "docs" / "reference" / "options.md").read_text(), (
        "run ablate options to="
    )
    assert made.count("\n| `") > 80
    assert "| `rotary` | " in made


VARIANT = '''
"""A position of somebody else."""

from ablate.model.position.base import Position


class Shifted(Position):
    def __init__(self, *, d_model: int, by: float) -> None:
        super().__init__()
        self.by = by

    def embed(self, x, positions):
        return x + self.by
'''


@pytest.fixture
def theirs(tmp_path, small):
    """Words that sweep over a level of somebody else; results/ has what came of it."""
    (tmp_path / "their_package").mkdir()
    (tmp_path / "their_package" / "shifted.py").write_text(VARIANT)
    level = tmp_path / "their_conf" / "model" / "position" / "shifted.yaml"
    level.parent.mkdir(parents=True)
    level.write_text("_target_: their_package.shifted.Shifted\n_partial_: true\nby: 0.5\n")
    folder = str(tmp_path / "their_conf")
    return ["--config-dir", folder, *small, "model/position=shifted,none", "-m"]


def check_that_theirs_trained(tmp_path):
    results = [json.loads(p.read_text()) for p in tmp_path.glob("results/runs/*/result.json")]
    assert len(results) == 2
    assert len({result["metrics"]["val/nll"] for result in results}) == 2
    identities = [json.loads(p.read_text()) for p in tmp_path.glob("results/runs/*/identity.json")]
    assert any("their_package.shifted" in identity["modules"] for identity in identities)


@pytest.mark.slow
def test_a_variant_from_another_folder_trains(theirs, command, here, monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(tmp_path)
    status, _, err = command(*theirs)
    assert status == 0, err
    check_that_theirs_trained(tmp_path)


@pytest.mark.slow
def test_a_variant_from_another_folder_trains_in_processes(theirs, tmp_path):
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{tmp_path}", "OMP_NUM_THREADS": "1"}
    done = python("-m", "ablate", *theirs, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    check_that_theirs_trained(tmp_path)


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Run the python of an environment into which the wheel alone was installed.

    The dependencies are those of this environment; the package itself comes from the wheel.
    """
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    home = folder / "venv"
    venv.create(home, with_pip=False)
    (packages,) = home.glob("lib/python*/site-packages")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", packages]
    subprocess.run([*pip, wheel], check=True, capture_output=True)
    dependencies = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "dependencies.pth").write_text("\n".join(dependencies))
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}

    def run(*arguments, cwd):
        executable = str(home / "bin" / "python")
        return python(*arguments, executable=executable, cwd=cwd, env=environment)

    run.wheel, run.packages = wheel, packages
    return run


@pytest.mark.slow
def test_a_wheel_carries_its_configs(installed, tmp_path, small):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    where = installed("-c", "from ablate.config.location import CONF; print(CONF)", cwd=elsewhere)
    assert where.stdout.strip() == str(installed.packages / "ablate" / "conf"), where.stderr
    done = installed("-m", "ablate", *small, "seed=0,1", "-m", cwd=elsewhere)
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("results/runs/*/result.json"))) == 2


@pytest.mark.slow
def test_a_wheel_carries_the_verdicts_of_the_committed_experiments(installed, tmp_path):
    with zipfile.ZipFile(installed.wheel) as wheel:
        names = [name for name in wheel.namelist() if name.startswith("ablate/experiments/")]
        size = sum(wheel.getinfo(name).compress_size for name in names)
    kept = {
        f"ablate/{path.relative_to(ROOT)}"
        for name in ("*/verdict.json", "*/contest.json", "manifest.jsonl")
        for path in (ROOT / "experiments").glob(name)
    }
    assert set(names) == kept and size < 1e6
    claims = json.loads(installed("-m", "ablate", "ledger", "--json", cwd=tmp_path).stdout)
    here = json.loads(python("-m", "ablate", "ledger", "--json", cwd=ROOT).stdout)
    states = ("claim", "state", "depends_on")
    assert [[claim[key] for key in states] for claim in claims] == [
        [claim[key] for key in states] for claim in here if claim["state_origin"] != "your sweep"
    ]
    done = installed("-m", "ablate", "site", "to=pages", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(list(tmp_path.glob("pages/claims/*.html"))) == len(claims)
    assert "pairs of models" in (tmp_path / "pages/how-to-read.html").read_text()
