"""A corpus of our own from English to Chinese, as one file of a folder: trained and scored."""

import itertools

import pytest

from ablate.train.resolve import resolve
from ablate.train.run import run

WHO = {"I": "我", "you": "你", "the teacher": "老师", "my friend": "我的朋友", "the child": "孩子"}
DO = {"see": "看见", "buy": "买", "want": "想要", "draw": "画", "find": "找到"}
WHAT = {"an apple": "一个苹果", "a horse": "一匹马", "a red book": "一本红色的书", "water": "水"}


@pytest.fixture
def corpus(tmp_path):
    lines = [
        f"{' '.join(words)}.\t{''.join((WHO[words[0]], DO[words[1]], WHAT[words[2]]))}。"
        for words in itertools.product(WHO, DO, WHAT)
    ]
    (tmp_path / "pairs.txt").write_text("\n".join([*lines, "", ""]), encoding="utf-8")
    sizes = ("data.validation_size=10", "data.test_size=10", "tokenizer=char")
    words = ("data.source=en", "data.target=zh", f"data.train={tmp_path / 'pairs.txt'}")
    return ["data=parallel", *words, *sizes]


@pytest.fixture
def go(small, corpus, compose):
    overrides = [word for word in small if not word.startswith(("data.", "scale=", "budget.short"))]
    return lambda *more: run(
        resolve(compose("scale=smoke", *corpus, *overrides, "search=greedy", *more))
    )


def test_chinese_is_scored_by_characters(go, capsys):
    result = go()
    assert "tok:zh" in result["signatures"]["bleu"]
    assert "case:lc" in result["signatures"]["bleu_tokenised"]
    assert {"test/bleu", "test/chrf"} <= result["metrics"].keys()
    assert "warning" not in capsys.readouterr().out
