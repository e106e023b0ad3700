import gzip

import numpy as np
import pytest

PAIRS = [(f"line {i}", f"Zeile {i}") for i in range(30)]


def test_separate_files(tmp_path, write, parallel):
    given = {name: write(tmp_path / name, PAIRS[i:]) for i, name in enumerate(("tr", "va", "te"))}
    corpus = parallel(given["tr"], validation=given["va"], test=given["te"])
    assert corpus.languages == ("en", "de")
    assert corpus.splits == ("train", "validation", "test")
    for i, split in enumerate(corpus.splits):
        assert list(zip(*corpus.read(split), strict=True)) == PAIRS[i:]


@pytest.mark.parametrize("ending", [".tsv", ".txt.gz"])
def test_a_table_has_two_columns_and_further_ones_are_ignored(tmp_path, parallel, ending):
    text = "".join(f"{src}\t{tgt}\tCC-BY 2.0\n" for src, tgt in PAIRS).encode()
    path = tmp_path / f"all{ending}"
    path.write_bytes(gzip.compress(text) if ending.endswith(".gz") else text)
    pairs = parallel(str(path), validation=str(path)).read("validation")
    assert list(zip(*pairs, strict=True)) == PAIRS


def test_the_sampled_splits_are_disjoint_complete_and_repeatable(tmp_path, write, parallel):
    prefix = write(tmp_path / "all", PAIRS)
    corpus = parallel(prefix, validation_size=4, test_size=7)
    splits = {split: list(zip(*corpus.read(split), strict=True)) for split in corpus.splits}
    assert [len(splits[name]) for name in ("train", "validation", "test")] == [19, 4, 7]
    assert sorted(sum(splits.values(), [])) == sorted(PAIRS)
    again = parallel(prefix, validation_size=4, test_size=7)
    assert [list(zip(*again.read(split), strict=True)) for split in again.splits] == list(
        splits.values()
    )


def test_the_fingerprint_follows_the_text_and_the_split(tmp_path, write, parallel):
    (tmp_path / "copy").mkdir()
    first = parallel(write(tmp_path / "all", PAIRS))
    copy = write(tmp_path / "copy" / "all", PAIRS)
    assert first.fingerprint() == parallel(copy).fingerprint()
    assert first.fingerprint() != parallel(copy, test_size=6).fingerprint()
    assert first.fingerprint() != parallel(copy, source="de", target="en").fingerprint()
    changed = write(tmp_path / "copy" / "all", [*PAIRS[:-1], ("line 29", "Zeile 30")])
    assert first.fingerprint() != parallel(changed).fingerprint()


@pytest.mark.parametrize(("lines", "held_out"), [(12, 1), (3000, 300), (12000, 1000)])
def test_without_sizes_a_tenth_is_drawn_for_each_split(tmp_path, write, parallel, lines, held_out):
    pairs = [(f"line {i}", f"Zeile {i}") for i in range(lines)]
    corpus = parallel(write(tmp_path / "all", pairs), validation_size=None, test_size=None)
    sizes = [len(corpus.read(split).src) for split in corpus.splits]
    assert sizes == [lines - 2 * held_out, held_out, held_out]


def test_only_what_training_reads_is_in_its_fingerprint(tmp_path, write, parallel):
    given = {name: write(tmp_path / name, PAIRS) for name in ("train", "validation", "test")}
    corpus = parallel(given.pop("train"), **given)
    training, test = corpus.fingerprint(), corpus.split_fingerprint("test")
    write(tmp_path / "test", PAIRS[1:])
    assert corpus.fingerprint() == training
    assert corpus.split_fingerprint("test") != test
    write(tmp_path / "validation", PAIRS[1:])
    assert corpus.fingerprint() != training


def test_a_file_of_groups_names_the_document_of_every_line(tmp_path, write, parallel):
    given = {name: write(tmp_path / name, PAIRS) for name in ("tr", "va", "te")}
    corpus = parallel(given["tr"], validation=given["va"], test=given["te"])
    plain = corpus.fingerprint()
    assert corpus.evaluation_fingerprint("train") == ""
    without = corpus.evaluation_fingerprint("test")
    assert corpus.groups("test") is None
    names = [f"document {i // 10}" for i in range(30)]
    (tmp_path / "te.groups").write_text("\n".join(names) + "\n")
    assert corpus.groups("test") == names
    assert corpus.groups("validation") is None
    assert corpus.fingerprint() == plain
    assert corpus.evaluation_fingerprint("test") not in ("", without)


def test_lines_are_drawn_one_by_one(tmp_path, write, parallel):
    corpus = parallel(write(tmp_path / "all", PAIRS), validation_size=4, test_size=7)
    order = np.random.default_rng(0).permutation(len(PAIRS))
    assert list(corpus.read("test").src) == [PAIRS[i][0] for i in sorted(order[:7])]
    assert list(corpus.read("validation").src) == [PAIRS[i][0] for i in sorted(order[7:11])]
