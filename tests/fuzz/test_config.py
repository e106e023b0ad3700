"""Values of every type for every key of the config: done, or refused in a sentence."""

from collections import Counter
from itertools import groupby

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .conftest import FUZZ, check
from .keys import every_key, write_text
from .values import values

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800), pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def groups(compose, small_in, tmp_path_factory):
    """The keys of the default run, and those that each option brings."""
    from ablate.config.location import CONF
    from ablate.config.schema import Config

    assert Config  # which the config tree names: Hydra knows it by now
    folder = tmp_path_factory.mktemp("text")
    write_text(folder)
    sizes = [word for word in small_in(folder) if not word.startswith("paths.")]
    keys = every_key(compose, CONF, sizes, folder)
    return [list(members) for _, members in groupby(keys, lambda key: key.choices)]


@st.composite
def runs(draw, groups):
    """Overrides of a run, one or two of which are drawn; the keys of these; whether it trains."""
    default, *others = groups
    group = draw(st.just(default) | st.sampled_from(others))
    keys = [draw(st.sampled_from(group)) for _ in range(draw(st.sampled_from([1, 1, 1, 2])))]
    words = [f"{key.name}={draw(values(key.value, key.words))}" for key in keys]
    return [*keys[0].choices, *words], keys, draw(st.sampled_from([False] * 4 + [True]))


def test_values(groups, command, small, tmp_path, monkeypatch):
    outcomes, done = Counter(), set()
    paths = [word for word in small if word.startswith("paths.")]
    monkeypatch.chdir(tmp_path)  # where folders go that are drawn

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
        assert result.status == 0 or any(name_of(key) in result.err for key in keys), result.err
        done.add(str(words))

    holds()
    assert outcomes[0] >= sum(outcomes.values()) / 3, outcomes


def leave(*arguments):
    """End a run in which everything has been built and checked."""
    raise SystemExit(0)


def name_of(key):
    """What a sentence about a key has in it: the node of one that Hydra reads itself."""
    node, _, name = key.name.rpartition(".")
    return node if name.startswith("_") else name
