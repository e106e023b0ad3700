"""The README's picture is drawn from the committed evidence."""

from pathlib import Path

from ablate.report.draw import svg
from lab.picture import PICTURE, picture

ROOT = Path(__file__).parents[2]


def test_the_picture_is_that_of_the_evidence():
    drawn = (ROOT / PICTURE).read_text(encoding="utf-8")
    assert drawn == svg(picture()), "run python -m lab.picture"
    assert PICTURE.as_posix() in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 90
