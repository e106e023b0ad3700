"""Damaged files of finished runs, sweeps and evidence: each is named, healed or not needed."""

import json
import shutil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .conftest import FUZZ, check, files_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800), pytest.mark.filterwarnings("ignore")]
SMALLEST = (  # several epochs of a few batches
    *("data.n_train=60", "data.n_validation=5", "data.n_test=5", "batch.tokens=256"),
    *("budget.validate_every=2", "trainer.log_every_n_steps=2"),
)
SWEEP = ("+experiment=relu_vs_linear", "seed=0,1", "budget.short=null", "-m")


WRITE = ("run", "sweep", "go on", "judge", "judge evidence")  # commands that heal or are refused
READ = ("translate", "ledger")  # commands that say the same, or name what is damaged


def flip(content, at):
    changed = bytearray(content)
    changed[at] ^= 1 << at % 8
    return bytes(changed)


CONTENTS = {
    "emptied": lambda content, at: b"",
    "cut": lambda content, at: content[:at],
    "a bit flipped": flip,
    "a line doubled": lambda content, at: content + content[at:],
    "zeros": lambda content, at: content[:at] + bytes(len(content) - at),
}


def replace_by_folder(path, other):
    path.unlink()
    path.mkdir()


def link(path, target):
    path.unlink()
    path.symlink_to(target)


PLACES = {
    "deleted": lambda path, other: path.unlink(),
    "a folder": replace_by_folder,
    "a link to itself": lambda path, other: link(path, path.name),
    "a link to nothing": lambda path, other: link(path, "nowhere"),
    "a link to another": lambda path, other: link(path, other),
    "a link out": lambda path, other: link(path, "/etc/hosts"),
    "another's content": lambda path, other: shutil.copyfile(other, path),
}


def damage(path, how, share, other):
    """Damage a file; False where the content stays the same."""
    before = path.read_bytes()
    if how in PLACES:
        if path == other:
            return False
        PLACES[how](path, other)
        return not path.is_file() or path.is_symlink() or path.read_bytes() != before
    path.write_bytes(CONTENTS[how](before, int(share * len(before))) if before else b"x")
    return path.read_bytes() != before


@pytest.fixture
def case(tmp_path, command, here, small, monkeypatch):
    return Case(tmp_path, command, [*small, *SMALLEST], monkeypatch)


class Case:
    """Results of a run and a sweep, with evidence; `sound` is what each command says of them."""

    def __init__(self, root, command, words, monkeypatch):
        self.results, self.kept, self.text = root / "results", root / "kept", root / "text"
        self.text.write_text("vi remu\nkato\n")
        self.command, self.monkeypatch = command, monkeypatch
        assert command(*words)[0] == 0
        (run,) = self.results.glob("runs/*")
        assert command(*words, *SWEEP)[0] == 0
        (sweep,) = self.results.glob("sweeps/*/*")
        experiments = self.results / "experiments"
        evidence = experiments / "relu_vs_linear"
        assert command("judge", sweep, f"to={evidence}")[0] == 0
        folders = (f"experiments={experiments}", f"results={self.results}")
        self.commands = {
            "run": words,
            "sweep": [*words, *SWEEP],
            "go on": [*words, *SWEEP, f"hydra.sweep.dir={sweep}"],
            "judge": ["judge", sweep],
            "judge evidence": ["judge", evidence],
            "ledger": ["ledger", *folders],
            "translate": ["translate", f"checkpoint={run}"],
        }
        shutil.copytree(self.results, self.kept, symlinks=True)
        self.sound, self.facts = {}, facts(self.kept)
        for name in self.commands:
            self.heal()
            self.sound[name] = self.call(name)

    def heal(self):
        shutil.rmtree(self.results)
        shutil.copytree(self.kept, self.results, symlinks=True)

    def call(self, name):
        with self.text.open() as stdin:
            self.monkeypatch.setattr("sys.stdin", stdin)
            return self.command(*self.commands[name])


def facts(results, damaged=""):
    """What the other files say that decides something: of runs, of tests, of verdicts."""
    contents = {}
    for path in files_of(results):
        name = str(path.relative_to(results))
        if name == damaged:
            continue
        if path.name in ("result.json", "verdict.json"):
            plain = json.loads(path.read_text())
            contents[name] = plain.get("metrics") or decided(plain["claims"])
        if path.suffix in (".hyp", ".pt"):
            contents[name] = path.read_bytes()
    return contents


def decided(claims):
    return [(claim["verdict"], claim["effect"], claim["interval"]) for claim in claims]


def test_a_damaged_file_is_never_taken_for_whole(case):
    names = [str(path.relative_to(case.kept)) for path in files_of(case.kept)]
    damages = st.sampled_from([*CONTENTS, *PLACES])

    @settings(FUZZ, max_examples=150)
    @given(
        st.sampled_from([*case.commands]),
        *(st.sampled_from(names), damages, st.floats(0, 1, exclude_max=True)),
        st.sampled_from(names),
    )
    def holds(command, name, how, share, other):
        case.heal()
        if not damage(case.results / name, how, share, case.results / other):
            return
        result = case.call(command)
        check(result)
        nothing_is_lost(case, name)
        named = name.rpartition("/")[2] in result.out + result.err
        assert result.status == 0 or named
        if result.status == 0 and not named and command in WRITE:
            left = facts(case.results, name)
            changed = [key for key, fact in case.facts.items() if left.get(key) != fact]
            assert changed in ([], [name])
        if result.status == 0 and not named and command in READ:
            assert result.out == case.sound[command].out

    holds()


def nothing_is_lost(case, damaged):
    """Files of other runs are as they were."""
    run = damaged.split("/")[:2]
    for path in files_of(case.kept / "runs"):
        name = path.relative_to(case.kept)
        if [*name.parts[:2]] != run:
            assert (case.results / name).read_bytes() == path.read_bytes()
