"""Do the printed numbers of a worked example follow from what is printed before them?

Equation: an entry whose last printed decimal has the unit u follows where it is within `follows` u
    of what its operation gives in float64, either of the operands as printed one step before
    (local) or of the first inputs, without rounding (chain).
Source: the worked examples of a document, in ablate/claims/ledger/examples;
    ablate.claims.example recomputes them.
What differs: the operations are those of this project, by its own components where it has them.
What to expect: nothing, since a printed number is a fact; the control says whether a wrong one
    would be seen.
"""

from ablate.claims.example.block import read
from ablate.claims.example.recompute import (
    SUM_TO_ONE,
    Rule,
    moved_by_an_input,
    recompute,
    totals,
    unequal_twins,
)
from ablate.model.base import Model
from ablate.probe.base import Probe


class WorkedExample(Probe):
    """Recomputes one example; the model plays no part.

    Args:
        example: which of ablate/claims/ledger/examples.
        follows: units of the last printed decimal within which an entry follows.
        rounding: the same for an entry that is rounded loosely, which does not count against it.

    Raises:
        UserError: there is no such example.
    """

    needs = Model
    measures = (
        *("entries", "follows", "rounding", "differing_entries", "inherited", "reprinted"),
        *("not_checkable", "broken_laws", "rows_off", "unequal_twins", "control"),
    )

    def __init__(self, *, example: str, follows: float, rounding: float) -> None:
        self.example, self.rule = read(example), Rule(follows, rounding)

    def __call__(self, model: Model) -> dict[str, float]:
        """Return how many printed entries are of each sort.

        inherited: follow from printed operands that were off already; reprinted: stand there again;
        not_checkable: come from operands that are not printed; broken_laws: rows of weights whose
        sum is not 1, and means outside of what they are means of, rows_off: the former alone;
        unequal_twins: blocks that are computed alike and printed otherwise; control: entries that
        move when one input does by ten units.
        """
        results = recompute(self.example, self.rule)
        count = totals(results)
        found = {
            "entries": count["entries"],
            "follows": count.get("follows", 0),
            "rounding": count.get("rounding", 0),
            "differing_entries": count["differs"],
            "inherited": count.get("inherited", 0),
            "reprinted": count.get("re-print", 0),
            "not_checkable": count.get("not checkable", 0),
            "broken_laws": sum(result.broken for result in results),
            "rows_off": sum(r.broken for r in results if SUM_TO_ONE in r.block.laws),
            "unequal_twins": unequal_twins(self.example),
            "control": moved_by_an_input(self.example),
        }
        return {name: float(value) for name, value in found.items()}
