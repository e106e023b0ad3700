"""Check whether the code listing of a document computes the formula of the document.

Equation: the largest difference between the output of the listing and the formula, computed by
    components of this project with copied weights, over random inputs in float64; in three forms:
    as printed, with minimal patches that make it run, and with patches that make it correct.
Source: the listings of the documents, named in experiments/listings/listings; not part of this
    project.
What differs: the usual imports are provided, and dropout is off; a form that fails has a difference
    of 1.
What to expect: the repaired form equals the formula up to rounding, unless a patch is missing; the
    form that merely runs shows errors that no exception reveals.
"""

from pathlib import Path

from ablate.errors import UserError
from ablate.model import Model
from ablate.probe import Probe
from experiments.listings.child import Form, examine_listing
from experiments.listings.source import FORMS, read

NUMBERS = (
    *("runs", "gap", "torch", "masked_gap", "mask_effect", "hides", "mates"),
    *("longest", "saved", "trained", "sum"),
)


class PrintedListing(Probe):
    """A probe that runs one code listing of a document in a separate process; the model is ignored.

    The listing is run in three forms: as printed, patched so that it runs, and repaired.

    Args:
        listing: name of the code listing: a file in experiments/listings/listings.
        documents: folder with the text files of the documents; must be set, because they are not
            included.
        draws: number of random weights and inputs with which each form of the listing is run.
        seed: seed of the random weights and inputs.

    Raises:
        UserError: there is no such listing, or `draws` is below 1; when called, its text is
            missing.
    """

    needs = Model
    measures = (*(f"{form}_{number}" for form in FORMS for number in NUMBERS), "perturbed")

    def __init__(self, *, listing: str, documents: str | None, draws: int, seed: int) -> None:
        if draws < 1:
            raise UserError(f"probe.draws is {draws}: it must be at least 1")
        self.listing, self.documents = read(listing), documents
        self.draws, self.seed = draws, seed

    def __call__(self, model: Model) -> dict[str, float]:
        """Return measurements of the code listing in three forms: as printed, patched so that it
        runs, and repaired.

        A name is the form and the measurement, such as printed_gap. Each kind of listing has some
        of these measurements. A form that fails has only `runs`, which is 0, and `gap`, which is 1.

        Returns:
            runs: 1 if the code runs, else 0.
            gap: largest difference from the formula.
            torch: largest difference from torch's function.
            masked_gap: the gap with a mask.
            mask_effect: change of the output by a mask.
            hides: the mask value that hides a key.
            mates: change of the output by other sentences of the batch.
            longest: for sinusoidal positions, the longest input among 80, 81, 500 and 501 tokens
                that is accepted.
            saved: for sinusoidal positions, 1 if the table is saved, else 0.
            trained: for sinusoidal positions, the number of parameter tensors.
            sum: for a sub-layer, the gap with torch's norm.
            perturbed: the gap of the repaired form if an input or a weight is changed. This is a
                control; its name has no form.

        Raises:
            UserError: `documents` is None, or the text of the listing is missing.
        """
        if self.documents is None:
            raise UserError(
                "probe.documents is null, but this probe runs code listings of documents, and the "
                "documents are not part of this project; set it to the folder with their texts"
            )
        documents = Path(self.documents)
        results = examine_listing(self.listing, documents, draws=self.draws, seed=self.seed)
        control = results[FORMS[-1]].get("perturbed", 0.0)
        numbers = (numbers_of(form, results[form]) for form in FORMS)
        return {
            name: value for numbers_of_form in numbers for name, value in numbers_of_form.items()
        } | {"perturbed": control}


def numbers_of(form: str, result: Form) -> dict[str, float]:
    """Return the measurements of a code listing in one form, by the names that the probe reports,
    such as printed_gap.

    Args:
        form: "printed" for the code as the document prints it, "crash_only" with only the patches
            without which the code fails, or "repaired" with all patches.
        result: the measurements by short names, or the error that ended the code.
    """
    if "error" in result:
        return {f"{form}_runs": 0.0, f"{form}_gap": 1.0}
    kept = {name: value for name, value in result.items() if name in NUMBERS}
    return {f"{form}_{name}": value for name, value in {"runs": 1.0, **kept}.items()}
