"""Let Hydra find the options of the project's catalogue.

This module is imported at every start of Hydra, so it imports nothing heavy.
"""

from hydra.core.config_search_path import ConfigSearchPath
from hydra.plugins.search_path_plugin import SearchPathPlugin

from ablate.config.location import catalogue_folders, search_catalogue


class Catalogue(SearchPathPlugin):
    """Appends the config folders of the catalogue to the folder of ablate."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Append the folders, and let Python import the classes that their options name."""
        search_catalogue()
        for folder in catalogue_folders():
            search_path.append("catalogue", f"file://{folder}")
