"""How the files of the project depend on each other."""

from graphlib import TopologicalSorter
from importlib.util import find_spec

import grimp
import pytest
from hydra.utils import get_object


@pytest.fixture(scope="module")
def imports():
    """The imports of every module, by its name."""
    graph = grimp.build_graph("ablate", "experiments", "lab", exclude_type_checking_imports=True)
    return {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}


def test_no_two_files_form_a_circle(imports):
    ordered = [*TopologicalSorter(imports).static_order()]  # CycleError names the files
    assert len(ordered) == len(imports) > 300


def test_the_statistics_know_nothing_of_runs_or_files(imports):
    outside = {
        name
        for module in imports
        if f"{module}.".startswith("ablate.stats.")
        for name in imports[module]
        if not f"{name}.".startswith("ablate.stats.")
    }
    assert not outside


def test_names_of_modules_and_classes_in_texts_are_names_of_something():
    """A name that is out of date would check or leave out nothing, without a word."""
    from ablate.config import check
    from ablate.record import identity

    named = (check.INTERFACES, check.NAMED)
    for name in (name for names in named for name in names.values()):
        assert isinstance(get_object(name), type), name
    for name in (*identity.ENTRY_MODULES, identity.EVALUATE, *identity.UNEXECUTED):
        assert find_spec(name), name
