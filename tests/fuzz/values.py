"""Values for a key, as the command line has them: likely ones, and odd ones of every type."""

import json

from hypothesis import strategies as st

NUMBERS = [
    *("-1", "0", "-0.0", "1", "2", "0.5", "1.0", "1e-300", "1e30", "1e308", "-1e30", "1e400"),
    *("2147483647", "9223372036854775807", "9223372036854775808", f"{10**12}", f"{10**40}"),
    *("nan", "inf", "-inf", "1_000", "0x10", "1e3", "true", "false"),
]
TEXTS = [
    *("", "x", "null", "none", "None", "~", "..", "/no/such/path", "a/b", "a b", "a=b", "a:b"),
    *("[x]", "[bold]x[/bold]", "[/b]", "<b>", "&amp;", "'", '"', "\\", "%s", "{}", "{0}", "$HOME"),
    *(
        "${seed}",
        "${nowhere}",
        "${oc.env:NO_SUCH_VARIABLE}",
        "${",
        "???",
        "*",
        "日本",
        "🙂",
        "\u2028",
    ),
    *("\ufeff", "e\u0301", "\u202eabc", "x" * 5000, "a\nb", "a\tb", "-m", "--help"),
]
UNQUOTED = ["[]", "{}", "[1]", "[1,2]", "[null]", "[[]]", "{a: 1}", "{rate: 0.5}", "[a,b]", "1,2"]
UNQUOTED += [
    "{_target_: builtins.list}",
    "[",
    "{",
    "a,",
    "range(3)",
    "choice(1,2)",
    "glob(*)",
    "null",
]


def quoted(text: str) -> str:
    """Return an override value that Hydra reads as this text."""
    slashes = text.replace("\\", "\\\\") if text.endswith("\\") else text
    return "'" + slashes.replace("'", "\\'") + "'"


texts = st.sampled_from(TEXTS) | st.text(st.characters(exclude_characters="\0"), max_size=8)
odd = st.one_of(
    st.sampled_from(NUMBERS),
    st.sampled_from(UNQUOTED),
    texts.map(quoted),
    texts,
    st.integers().map(str),
    st.floats().map(str),
)


def near(value: object, words: tuple[str, ...]) -> st.SearchStrategy[str]:
    """Values of the same type as this one, of which most may be right."""
    if isinstance(value, bool):
        return st.sampled_from(["true", "false"])
    if isinstance(value, int):
        likely = {value - 1, value, value + 1, value + 2, 1, 2, 3, 8}
        return st.sampled_from(sorted(likely)).map(str)
    if isinstance(value, float):
        return st.sampled_from([value, value / 2, value * 2, 0.0, 0.1, 0.5, 1.0]).map(str)
    if isinstance(value, str):
        return (st.just(value) | st.sampled_from([value, *words])).map(quoted)
    if isinstance(value, list) and value:
        return st.lists(st.sampled_from(value), max_size=len(value) + 1).map(json.dumps)
    return st.just("{}" if isinstance(value, dict) else "null")


def values(value: object, words: tuple[str, ...]) -> st.SearchStrategy[str]:
    """Mostly likely values, as two of three odd ones are refused for the same reason."""
    turns = st.sampled_from([False] * 3 + [True])
    return turns.flatmap(lambda is_odd: odd if is_odd else near(value, words))
