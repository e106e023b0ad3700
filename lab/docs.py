"""A hook of mkdocs: the index of the search as a script, so that it works from disk."""

from collections.abc import Mapping
from pathlib import Path


def on_post_build(config: Mapping[str, str]) -> None:
    """Write `search/search_index.js` beside the index that the search plugin writes."""
    index = Path(config["site_dir"], "search", "search_index.json")
    text = index.read_text(encoding="utf-8")
    index.with_suffix(".js").write_text(f"window.searchIndex = {text}\n", encoding="utf-8")
