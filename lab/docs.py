"""A hook of mkdocs that makes the search work on pages opened from disk, without a server."""

from collections.abc import Mapping
from pathlib import Path


def on_post_build(config: Mapping[str, str]) -> None:
    """Write the search index as a script, `search/search_index.js`.

    A page opened from disk may load a script, but not the JSON file of the search plugin.
    """
    index = Path(config["site_dir"], "search", "search_index.json")
    text = index.read_text(encoding="utf-8")
    index.with_suffix(".js").write_text(f"window.searchIndex = {text}\n", encoding="utf-8")
