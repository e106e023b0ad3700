import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from ablate.data.cache import MANIFEST, is_complete, key, open_cache
from ablate.data.scheme import Bpe, Char, Word

BPE = Bpe(vocab_size=100, joint=True)
WORD = Word(vocab_size=None, joint=True)

BUILDER = """
import sys, time
from pathlib import Path
from ablate.data.cache import open_cache
from ablate.data.parallel import Parallel
from ablate.data.scheme import Bpe
corpus = Parallel(source="en", target="de", train=sys.argv[1], validation=None, test=None,
                  validation_size=20, test_size=30)
Path(sys.argv[2], f"ready{sys.argv[3]}").touch()
while not Path(sys.argv[2], "go").exists():
    time.sleep(0.001)
cache = open_cache(Path(sys.argv[2]), corpus, Bpe(vocab_size=100, joint=True))
import numpy as np
print(sum(int(ids.read(np.arange(len(ids)), 99)[0].sum()) for ids in cache.split("train")))
"""


def folder(root, corpus, scheme=BPE):
    return root / "tokens" / key(corpus, scheme)


def sentences_of(ids) -> list[list[int]]:
    tokens, lengths = ids.read(np.arange(len(ids)), 99)
    return [stretch.tolist() for stretch in np.split(tokens, lengths.cumsum()[:-1])]


@pytest.mark.parametrize("scheme", [BPE, Bpe(vocab_size=60, joint=False)])
def test_holds_the_ids_of_every_line(tmp_path, corpus, scheme):
    text, cache = corpus(), open_cache(tmp_path, corpus(), scheme)
    for split in text.splits:
        sides = zip(
            cache.split(split),
            (cache.tokenizers.src, cache.tokenizers.tgt),
            text.read(split),
            strict=True,
        )
        for ids, tokenizer, lines in sides:
            assert sentences_of(ids) == tokenizer.encode_batch(lines)
            assert ids.lengths(10).tolist() == [min(10, len(s) + 1) for s in sentences_of(ids)]


def test_the_number_of_threads_does_not_matter(tmp_path, corpus, monkeypatch):
    monkeypatch.setattr("ablate.data.tokenizer.CHUNK", 9)
    files = []
    for cores in (1, 2, 7):
        monkeypatch.setattr("ablate.data.tokenizer._cores", lambda cores=cores: cores)
        root = tmp_path / str(cores)
        open_cache(root, corpus(), BPE)
        paths = sorted(folder(root, corpus()).iterdir())
        files.append({path.name: path.read_bytes() for path in paths})
    assert files[0] == files[1] == files[2]


def test_the_key_follows_text_and_settings(tmp_path, corpus, write, parallel):
    text = corpus()
    schemes = (BPE, WORD, Char(vocab_size=None, joint=True), Bpe(vocab_size=100, joint=False))
    keys = [key(text, scheme) for scheme in schemes]
    keys.append(key(text, Bpe(vocab_size=101, joint=True)))
    keys.append(key(parallel(write(tmp_path / "x", [("a", "b")] * 99)), BPE))
    assert len(set(keys)) == len(keys)
    assert key(corpus(), Bpe(vocab_size=100, joint=True)) == keys[0]


@pytest.mark.parametrize("how", [Path.unlink, lambda path: path.write_bytes(b"")])
def test_a_file_that_is_missing_or_cut_short_is_built_again(tmp_path, corpus, how):
    open_cache(tmp_path, corpus(), BPE)
    place = folder(tmp_path, corpus())
    whole = {path.name: path.read_bytes() for path in place.iterdir()}
    assert {"joint.json", "train.tgt.ids", "train.src.offsets", MANIFEST} <= set(whole)
    for name in {*whole} - {MANIFEST}:
        how(place / name)
        open_cache(tmp_path, corpus(), BPE)
        assert {path.name: path.read_bytes() for path in place.iterdir()} == whole


def test_several_processes_build_at_once(tmp_path, corpus):
    corpus()  # writes the text
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", BUILDER, str(tmp_path / "corpus"), str(tmp_path), str(number)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(2)
    ]
    while len(list(tmp_path.glob("ready*"))) < len(processes):
        assert all(process.poll() is None for process in processes)
        time.sleep(0.01)
    (tmp_path / "go").touch()
    sums = [process.communicate()[0].splitlines()[-1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert len(set(sums)) == 1
    place = folder(tmp_path, corpus())
    assert os.listdir(place.parent) == [place.name]
    assert is_complete(place)
