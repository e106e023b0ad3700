"""Words of Hydra's own on the command line of a run."""

import pytest

from ablate.config.hydras import check_words
from ablate.errors import UserError


def test_the_words_that_lightning_adds_for_a_further_device_are_taken():
    check_words(['hydra.run.dir="."', "hydra.job.name=train_ddp_process_1"])
    check_words(["hydra.output_subdir=null"])


@pytest.mark.parametrize("folder", ["elsewhere", '"elsewhere"'])
def test_another_folder_is_refused_with_or_without_quotes(folder):
    with pytest.raises(UserError, match="say paths.results=FOLDER"):
        check_words([f"hydra.run.dir={folder}"])
