"""Values of every type for every key of the config: done, or refused in a sentence."""

import resource
from collections import Counter
from itertools import groupby

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .conftest import FUZZ, check, files_of
from .keys import every_key, write_text
from .values import values

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800), pytest.mark.filterwarnings("ignore")]
STARTING = ("trainer.devices", "trainer.num_nodes", "trainer.strategy")
MOST = 9 << 30  # bytes of address space


@pytest.fixture(scope="module", autouse=True)
def little_memory():
    """Let a draw that asks for all memory fail, in place of the machine."""
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MOST, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, limits)


@pytest.fixture(scope="module")
def groups(compose, small_in, tmp_path_factory):
    """The keys of the default run, and those that each option brings."""
    from ablate.config.catalogue import option_folders
    from ablate.config.schema import Config

    assert Config  # which the config tree names: Hydra knows it by now
    folder = tmp_path_factory.mktemp("text")
    write_text(folder)
    sizes = [word for word in small_in(folder) if not word.startswith("paths.")]
    # as many pieces as the text gives: a drawn text may give few
    keys = every_key(compose, option_folders(), [*sizes, "tokenizer.vocab_size=null"], folder)
    return [list(members) for _, members in groupby(keys, lambda key: key.choices)]


@st.composite
def runs(draw, groups):
    """Overrides of a run, one or two of which are drawn; the keys of these; whether it trains.

    What would start other processes does not train: they would have the command line of the test.
    """
    default, *other_groups = groups
    group = draw(st.just(default) | st.sampled_from(other_groups))
    keys = [draw(st.sampled_from(group)) for _ in range(draw(st.sampled_from([1, 1, 1, 2])))]
    words = [f"{key.name}={draw(values(key.value, key.words))}" for key in keys]
    alone = not any(key.name in STARTING for key in keys)
    return [*keys[0].choices, *words], keys, alone and draw(st.sampled_from([False] * 4 + [True]))


def test_values(groups, command, small, tmp_path, monkeypatch):
    outcomes, done = Counter(), set()
    paths = [word for word in small if word.startswith("paths.")]
    monkeypatch.chdir(tmp_path)  # where folders go that are drawn
    assert command(*paths, *groups[0][0].choices, "seed=12345").status == 0
    finished = {path: path.read_bytes() for path in files_of(tmp_path / "results" / "runs")}

    @settings(FUZZ, max_examples=2000)
    @given(runs(groups))
    def holds(drawn):
        words, keys, trains = drawn
        if str(words) in done:  # a draw often comes twice
            return
        with monkeypatch.context() as patch:
            for phase in () if trains else ("train_and_test", "measure_untrained"):
                patch.setattr(f"ablate.train.run.{phase}", leave)
            result = command(*paths, *words)
        check(result)
        outcomes[result.status] += 1
        named = [name for key in keys for name in names(key) if name in result.err]
        assert result.status == 0 or named, result.err
        done.add(str(words))

    holds()
    assert all(path.read_bytes() == content for path, content in finished.items())
    assert outcomes[0] >= sum(outcomes.values()) / 3, outcomes


def leave(*arguments):
    """End a run in which everything has been built and checked."""
    raise SystemExit(0)


def names(key):
    """What a sentence about a key has in it: the key, or one beside it that does not go with it."""
    node, _, name = key.name.rpartition(".")
    return name, f"{node or name}.", f"{node or name}="
