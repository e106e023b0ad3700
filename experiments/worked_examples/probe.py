"""Check whether the printed numbers of a worked example follow from earlier printed numbers.

Equation: let u be the unit of the last decimal of a printed number. The number follows from earlier
    numbers if its distance from the recomputed number is at most t u, where the tolerance t is the
    setting `follows`. The number is recomputed twice in float64: from the operands as printed
    (local), and from the first inputs without any rounding (chain). One match is enough.
Source: the worked examples of a document, in experiments/worked_examples/examples; `recompute`
    recomputes them.
What differs: operations use components of this project where possible.
What to expect: no expectation. As a control, one input is changed and the numbers that move by more
    than u are counted, which shows whether a wrong number would be detected.
"""

from ablate.model import Model
from ablate.probe import Probe
from experiments.worked_examples.block import read
from experiments.worked_examples.recompute import (
    SUM_TO_ONE,
    Rule,
    count_changed_numbers,
    count_changed_rows_off,
    recompute,
    totals,
    unequal_twins,
)


class WorkedExample(Probe):
    """A probe that recomputes one worked example of a document; the model is ignored.

    Args:
        example: name of the worked example: a file in experiments/worked_examples/examples.
        follows: largest deviation of a correct printed number, in units of its last decimal.
        rounding: largest deviation that counts as careless rounding, in units of the last decimal.

    Raises:
        UserError: there is no such example.
    """

    needs = Model
    measures = (
        *("entries", "follows", "rounding", "differing_entries", "inherited", "reprinted"),
        *("not_checkable", "broken_laws", "rows_off", "rows_off_control"),
        *("unequal_twins", "control"),
    )

    def __init__(self, *, example: str, follows: float, rounding: float) -> None:
        self.example, self.rule = read(example), Rule(follows, rounding)

    def __call__(self, model: Model) -> dict[str, float]:
        """Return how many of the numbers that a document prints in a worked example have each
        possible result, when every number is recomputed from earlier numbers.

        Returns:
            entries: all printed numbers.
            follows: numbers that are equal to the recomputed number up to rounding.
            rounding: numbers that differ by more than the setting `follows` allows, but not by more
                than the setting `rounding` allows.
            differing_entries: numbers that differ by more than the setting `rounding` allows.
            inherited: numbers that follow from operands that the document itself printed wrongly.
            reprinted: numbers that only repeat earlier numbers.
            not_checkable: numbers whose operands the document does not print.
            rows_off: rows of attention weights whose sum is not 1.
            rows_off_control: the same rows if the first weight of each row is increased by ten
                units of its last decimal.
            broken_laws: these rows, and weighted means outside the range of the averaged numbers.
            unequal_twins: pairs of matrices with the same operation and the same operands, but
                with different printed numbers.
            control: recomputed numbers that change if one input number is increased by ten units
                of its last decimal. If there are none, the comparison detects no errors.
        """
        results = recompute(self.example, self.rule)
        count = totals(results)
        counts = {
            "entries": count["entries"],
            "follows": count.get("follows", 0),
            "rounding": count.get("rounding", 0),
            "differing_entries": count["differs"],
            "inherited": count.get("inherited", 0),
            "reprinted": count.get("re-print", 0),
            "not_checkable": count.get("not checkable", 0),
            "broken_laws": sum(result.broken for result in results),
            "rows_off": sum(r.broken for r in results if SUM_TO_ONE in r.block.laws),
            "rows_off_control": count_changed_rows_off(self.example),
            "unequal_twins": unequal_twins(self.example),
            "control": count_changed_numbers(self.example),
        }
        return {name: float(value) for name, value in counts.items()}
