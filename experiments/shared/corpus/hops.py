"""Follow k hops from node to node.

Equation: y = f(f(.. f(s) ..)), `hops` times f, where f(a) is the node after a in a random cycle
    through all `nodes`; the source has all pairs (a, f(a)) in random order, and then s.
Source: arXiv:2402.09268, section 4 (k-hop induction heads, learned with about log k layers).
What differs: a table of pairs takes the place of a sequence that repeats itself.
What to expect: more hops need more layers. Chance: a predictor that knows the words of the source
    and their frequencies but not their order: s is the node that occurs three times, and the answer
    is any other node. Bound: 0 nats.
"""

from dataclasses import dataclass
from math import log
from typing import Annotated

from ablate.config.limits import Count, Range
from experiments.shared.corpus.rule import (
    Choose,
    Level,
    Synthetic,
    Words,
    answer,
    distinct,
    named,
    require,
)


@dataclass(kw_only=True)
class Hops(Synthetic):
    """A synthetic corpus in which the source lists the edges of a cycle of nodes and a start, and
    the target is the node reached after `hops` steps.

    Args:
        nodes: number of nodes in the cycle that each source describes.
        hops: number of steps along the cycle from the start to the answer.

    Raises:
        UserError: this number of hops leads back to the start.
    """

    nodes: Annotated[int, Range(2)]
    hops: Count

    def __post_init__(self) -> None:
        require(
            self.hops % self.nodes != 0,
            f"data.hops={self.hops} is a multiple of data.nodes={self.nodes}, so that every answer "
            "is the start; choose another.",
        )

    def pair(self, choose: Choose) -> tuple[Words, Words]:
        """Return as source all pairs (node, next node) and a start, and as target the node that is
        reached after `hops` steps from the start.
        """
        cycle = named("s", distinct(choose, self.nodes, self.nodes))
        at, n = choose(self.nodes), self.nodes
        table = [(cycle[i], cycle[(i + 1) % n]) for i in distinct(choose, n, n)]
        source = [node for hop in table for node in hop]
        return [*source, cycle[at]], [cycle[(at + self.hops) % n]]

    def chance(self) -> Level:
        """Return the mean nll and accuracy of a predictor that knows how often each word occurs in
        the source, but not the order of the words.
        """
        return answer(log(self.nodes - 1), 1 / (self.nodes - 1))
