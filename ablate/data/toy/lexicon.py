"""The words of both languages: Mirel, the source, has open syllables, Sodak closed ones.

A word is an entry with one form per language. An ambiguous Mirel word is two entries that share
its form: what else stands in the sentence says which of the two is meant.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class Gender(StrEnum):
    """Of a noun; it is visible only in the Sodak words that agree with the noun."""

    MASCULINE = "M"
    FEMININE = "F"
    NEUTER = "N"


class Domain(StrEnum):
    """What a verb is about; it chooses the meaning of ambiguous nouns."""

    BODY = "body"
    MIND = "mind"


class Valency(StrEnum):
    """What a verb needs besides its subject."""

    NOTHING = "nothing"
    OBJECT = "object"
    OBJECT_AND_RECIPIENT = "object and recipient"
    CLAUSE = "clause"


@dataclass(frozen=True, slots=True)
class Word:
    """An entry of the dictionary; `gloss` is its meaning in English."""

    gloss: str
    mirel: str
    sodak: str


@dataclass(frozen=True, slots=True)
class Noun(Word):
    """`domain` is None unless the Mirel word is ambiguous."""

    gender: Gender
    animate: bool
    domain: Domain | None = None


@dataclass(frozen=True, slots=True)
class Verb(Word):
    """`animate_subject` is None unless the Mirel word is ambiguous."""

    domain: Domain
    valency: Valency
    animate_subject: bool | None = None


def _rows(table: str) -> list[list[str]]:
    return [line.split() for line in table.strip().splitlines()]


def _words(table: str) -> tuple[Word, ...]:
    return tuple(Word(*row) for row in _rows(table))


def _nouns(table: str, *, animate: bool) -> tuple[Noun, ...]:
    return tuple(
        Noun(gloss, mirel, sodak, Gender(gender), animate)
        for gloss, mirel, sodak, gender in _rows(table)
    )


def _verbs(table: str, *, valency: Valency) -> tuple[Verb, ...]:
    return tuple(
        Verb(gloss, mirel, sodak, Domain(domain), valency)
        for gloss, mirel, sodak, domain in _rows(table)
    )


def _ambiguous_nouns(table: str) -> tuple[Noun, ...]:
    """Read rows of a Mirel noun, then gloss, Sodak form and gender with either domain."""
    return tuple(
        Noun(gloss, mirel, sodak, Gender(gender), animate=False, domain=domain)
        for mirel, *senses in _rows(table)
        for domain, (gloss, sodak, gender) in zip(Domain, (senses[:3], senses[3:]), strict=True)
    )


def _ambiguous_verbs(table: str) -> tuple[Verb, ...]:
    """Read rows of a Mirel verb, then gloss and Sodak form with an animate subject and a thing."""
    return tuple(
        Verb(gloss, mirel, sodak, Domain(domain), Valency(valency), animate_subject=animate)
        for mirel, domain, valency, *senses in _rows(table)
        for animate, (gloss, sodak) in zip((True, False), (senses[:2], senses[2:]), strict=True)
    )


BEINGS = _nouns(
    """
    dog      lagu    hesp    M
    cat      lepa    glish   F
    horse    tetu    drun    N
    bird     raruma  vilkel  F
    wolf     pude    krost   M
    bear     karuse  brarn   F
    fish     numi    snek    N
    mouse    beve    tirk    F
    child    duni    plert   N
    woman    geno    vurom   F
    man      tofu    bron    M
    king     rota    gronk   M
    queen    zigi    melir   F
    smith    dosi    klump   M
    baker    kapefi  delk    F
    judge    bomo    trum    N
    singer   nolira  jink    N
    farmer   buzode  skald   M
    """,
    animate=True,
)
THINGS = _nouns(
    """
    house    sepo    lorn    N
    tower    kidako  spilm   M
    bridge   rugelu  krash   F
    river    zira    vost    M
    boat     mota    glank   F
    bread    peteni  brasp   N
    book     ratibo  stelm   F
    door     diri    hurp    M
    lamp     tavo    nurt    F
    coat     nela    grix    M
    knife    vupu    slond   N
    bell     saviko  plosk   F
    garden   kife    morun   N
    road     fuge    trix    F
    mountain lozefo  drelm   M
    cup      finu    pasht   M
    chair    gabi    jelt    N
    field    bibo    harn    F
    """,
    animate=False,
)
MATERIALS = _nouns(
    """
    stone    nifa    brol    M
    wood     kaku    vesk    F
    glass    feruni  klax    N
    iron     valeme  durg    N
    wool     badu    sholt   F
    salt     ridu    gnem    M
    """,
    animate=False,
)
AMBIGUOUS_NOUNS = _ambiguous_nouns(
    """
    kavi     key     tark   F    answer   blenk  M
    suzumu   leaf    nolm   N    story    grish  F
    kula     ring    drosk  M    sound    pelm   N
    fera     table   stulk  F    list     vand   N
    nuva     branch  kirt   N    doctrine sorm   F
    gulefo   root    brend  M    reason   halk   F
    """
)
NOUNS = BEINGS + THINGS + MATERIALS + AMBIGUOUS_NOUNS

ADJECTIVES = _words(
    """
    big      dafa    gosk
    small    ledi    mift
    old      ruru    sterg
    young    dolu    frip
    red      vudo    rask
    white    bokoto  blun
    black    tema    surk
    clever   defu    klin
    wet      siki    plam
    warm     tonavi  dosh
    strong   zekolo  brak
    poor     biga    velt
    """
)
ADVERBS = _words(
    """
    today    pilona  tresk
    often    fedi    morx
    soon     zime    hilm
    here     luvi    gend
    never    vita    skon
    slowly   mafi    drul
    """
)
PREPOSITIONS = _words(
    """
    with     zeti    ulk
    near     nagu    ash
    under    puve    orp
    behind   kede    irn
    """
)
VERBS = (
    _verbs(
        """
        sleep    binu    slirn   body
        dance    difa    prost   body
        fall     vule    gurn    body
        swim     boti    flan    body
        dream    livo    mosk    mind
        doubt    gezemi  trel    mind
        grieve   zepa    durm    mind
        rejoice  paso    kvel    mind
        """,
        valency=Valency.NOTHING,
    )
    + _verbs(
        """
        push     sireva  storn   body
        wash     kedo    glap    body
        break    gilu    knirt   body
        carry    dege    brik    body
        follow   mani    lersk   body
        catch    bela    faln    body
        cut      zako    ritch   body
        hide     madi    vorl    body
        see      tulesu  shent   mind
        hear     goki    nask    mind
        love     seputo  lirm    mind
        fear     fuku    grunk   mind
        forget   zavu    marst   mind
        praise   vetape  holp    mind
        need     tozo    dresk   mind
        admire   suse    filk    mind
        """,
        valency=Valency.OBJECT,
    )
    + _verbs(
        """
        give     favu    gark    body
        send     tudo    slemp   body
        sell     bebo    trosh   body
        promise  sifa    verm    mind
        explain  setuki  klond   mind
        describe viru    pralk   mind
        """,
        valency=Valency.OBJECT_AND_RECIPIENT,
    )
    + _verbs(
        """
        say      nani    zork    mind
        think    teso    malt    mind
        hope     nofa    wint    mind
        know     ledo    garsh   mind
        """,
        valency=Valency.CLAUSE,
    )
    + _ambiguous_verbs(
        """
        tuni     body  nothing  run    stren   work     bulk
        bara     mind  nothing  worry  sulp    matter   drent
        ligo     body  object   hold   pank    contain  grolm
        sudavi   body  object   pull   triln   lead_to  fesk
        nopu     mind  object   teach  hesk    prove    jorm
        """
    )
)


class Token(NamedTuple):
    """A word of a sentence and its word-by-word translation, as linguists gloss it: `dog-PL`."""

    form: str
    gloss: str


def text(tokens: Iterable[Token]) -> str:
    """Return the sentence as it stands in the corpus."""
    return " ".join(token.form for token in tokens)
