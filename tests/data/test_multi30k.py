import gzip
import hashlib

import pytest

from ablate.data import parallel
from ablate.data.parallel import Multi30k
from ablate.errors import UserError

TEXT = {
    f"{name}.{language}": f"{name} eins {language}\n{name} zwei\n".encode()
    for name in ("train", "val", "test_2016_flickr")
    for language in ("en", "de")
}


@pytest.fixture(autouse=True)
def expected(monkeypatch):
    hashes = {name: hashlib.sha256(text).hexdigest() for name, text in TEXT.items()}
    monkeypatch.setattr(parallel, "EXPECTED", hashes)


def corpus(tmp_path, url="http://127.0.0.1:9", root=None, source="en", target="de"):
    root = root or str(tmp_path / "downloaded")
    return Multi30k(root=root, url=url, source=source, target=target)


def folder(tmp_path) -> str:
    for name, text in TEXT.items():
        (tmp_path / name).write_bytes(text)
    return str(tmp_path)


def test_reads_a_folder_in_both_directions(tmp_path):
    root = folder(tmp_path)
    forth, back = corpus(tmp_path, root=root), corpus(tmp_path, root=root, source="de", target="en")
    assert list(forth.read("train").src) == ["train eins en", "train zwei"]
    assert list(back.read("test").src) == ["test_2016_flickr eins de", "test_2016_flickr zwei"]
    assert forth.splits == ("train", "validation", "test")
    assert forth.fingerprint() != back.fingerprint()
    assert not (tmp_path / "downloaded").exists()


def test_wrong_content_names_file_expected_and_found(tmp_path):
    root = folder(tmp_path)
    (tmp_path / "val.de").write_text("changed\n")
    digest = hashlib.sha256(b"changed\n").hexdigest()
    want = hashlib.sha256(TEXT["val.de"]).hexdigest()
    for use in (lambda c: c.read("validation"), lambda c: c.fingerprint()):
        with pytest.raises(UserError, match=rf"val\.de .*{digest}.*{want}"):
            use(corpus(tmp_path, root=root))


def test_downloads_once(tmp_path):
    for name, text in TEXT.items():
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(text))
    corpus(tmp_path, tmp_path.as_uri()).fingerprint()
    for path in tmp_path.glob("*.gz"):
        path.unlink()
    assert list(corpus(tmp_path).read("train").tgt) == ["train eins de", "train zwei"]
    assert {p.name: p.read_bytes() for p in (tmp_path / "downloaded").iterdir()} == TEXT
