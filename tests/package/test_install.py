"""What a user gets who installs the package: imports, help, a wheel, variants of their own."""

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from ..experiments import SHIFTED

ROOT = Path(__file__).resolve().parents[2]


def python(*arguments, executable=sys.executable, **options):
    return subprocess.run([executable, *arguments], capture_output=True, text=True, **options)


OPTION = "_target_: their_work.first.shifted.Shifted\n_partial_: true\nby: 0.5\n"


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

    run.packages = packages
    return run


@pytest.mark.slow
@pytest.mark.parametrize("name", ["preln_vs_postln", "heads_param_count"])
def test_an_experiment_of_a_wheel_runs_in_an_empty_folder(installed, tmp_path, small, name):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    few = [*small, "budget.seeds=2", "study.tune=null"] if name == "preln_vs_postln" else []
    results = [f"paths.results={tmp_path / 'results'}", f"paths.cache={tmp_path / 'cache'}"]
    words = [f"+experiment={name}", *few, "logger=none", *results, "-m"]
    done = installed("-m", "ablate", *words, cwd=elsewhere)
    assert done.returncode == 0, done.stderr
    (verdict,) = tmp_path.glob(f"results/sweeps/{name}/*/verdict.json")
    assert json.loads(verdict.read_text())["claims"]
    shown = installed("-m", "ablate", "ledger", cwd=elsewhere)
    assert (shown.returncode, shown.stdout) == (2, "") and "[tool.ablate]" in shown.stderr


@pytest.mark.slow
def test_a_catalogue_of_somebody_else_is_used_by_the_console_script(installed, tmp_path, small):
    """In worker processes, and its code is part of the identity of runs."""
    files = {
        "pyproject.toml": '[tool.ablate]\ncatalogue = "their_work"\n',
        "their_work/first/shifted.py": SHIFTED,
        "their_work/first/conf/model/position/shifted.yaml": OPTION,
        "deeper/notes.txt": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    script = str(installed.packages / "bin" / "ablate")
    words = [*small, "model/position=shifted,none", "n_jobs=2", "-m"]
    done = installed(script, *words, cwd=tmp_path / "deeper")
    assert done.returncode == 0, done.stderr
    results = [json.loads(p.read_text()) for p in tmp_path.glob("results/runs/*/result.json")]
    assert len(results) == 2
    assert len({result["metrics"]["val/nll"] for result in results}) == 2
    identities = [json.loads(p.read_text()) for p in tmp_path.glob("results/runs/*/identity.json")]
    assert any("their_work.first.shifted" in identity["modules"] for identity in identities)
