"""Define the content of study.json as typed dictionaries: the study, its setting and registration.

Files are checked against the same declarations (ablate.evidence.form).
"""

from collections.abc import Mapping
from typing import NotRequired

from typing_extensions import TypedDict

from ablate.config.study import Study
from ablate.evidence.types import Reason


class Regime(TypedDict):
    """The setting in which a study was run: data, model size, training steps, device and so on. Its
    verdicts hold in this setting.
    """

    scale: str
    data: str
    corpus: NotRequired[str]  # files and size; missing in older evidence
    model: str
    device: str
    precision: str
    d_model: int
    n_layers: NotRequired[int]
    steps: int
    tokens_per_step: int
    threads: int
    test_sentences: dict[str, int]
    short: NotRequired[int]


class Asked(TypedDict):
    """The history of a claim in the analysis log (ablate.evidence.log).

    `looks` has the seeds of each earlier analysis, `tried` the reasons why the claim is
    exploratory, and `regimes` the number of other settings in which the question was asked.
    """

    looks: list[list[int]]
    tried: list[Reason]
    regimes: int


class Registration(TypedDict):
    """The registration of a study, that is, of the claims, arms and decision rules that were fixed
    before the runs, with the history of earlier analyses.

    `hash` identifies everything that was fixed. `time` is the unix time when a sweep of the study
    was first started, and `commit` the commit of the source at its last start. `earlier` lists the
    hashes of other versions of the study that were started before this time. `looks` is the largest
    number of earlier analyses of a claim, and `asked` has the history of each claim. `sweep` is the
    folder of the sweep.
    """

    hash: str
    time: float
    commit: NotRequired[str]
    earlier: list[str]
    looks: int
    asked: NotRequired[dict[str, Asked]]
    sweep: NotRequired[str]
    components: NotRequired[dict[str, str]]  # options of config groups that all arms share
    command: NotRequired[str]
    # labels of the user's options by GROUP=OPTION, and title and purpose of the user's experiment
    labels: NotRequired[dict[str, str]]
    part: NotRequired[bool]  # whether this is only a part of a study, without a verdict


Seal = dict[str, str]  # digests by name of file


class About(TypedDict):
    """The content of study.json: a study with its setting and its registration (the hash and the
    time of the study as it was fixed before the runs).

    `seal` has digests by which edited files are detected. `registered` is the content of
    registered.json, the study as it was fixed before the runs; it may be empty.
    """

    name: str
    study: Study
    regime: Regime
    registration: Registration
    seal: NotRequired[Seal]
    registered: NotRequired[Mapping[str, object]]


class Begun(TypedDict):
    """The content of study.json at the start of a sweep, which may lack a study, and whose setting
    lacks what the runs record.
    """

    name: str
    study: dict[str, object] | None
    regime: dict[str, object]
    registration: dict[str, object]
    seal: NotRequired[dict[str, object]]
