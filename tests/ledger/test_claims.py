"""The data of the ledger, and that the studies of all experiments keep to it."""

import dataclasses
import re

import pytest
import yaml

from ablate.ledger.verdicts import read_claims
from experiments.site.catalogue import read_documents

from ..experiments import EXPERIMENTS

# Claims that studies add to those of the documents. An id that is neither here nor in the ledger
# is a slip of the pen.
ADDED = {
    "aa_equivalence",
    "aa_superiority",
    "batch_norm_folds",
    "bfloat16_same_bleu",
    "bfloat16_same_nll",
    "bleu_grows_with_heads",
    "constant_pe_restores_order",
    "column_mask_sufficient_decoder",
    "columns_hide_batch_mates",
    "columns_make_padding_invisible",
    "depth_parts_preln_and_postln",
    "factorised_third_order",
    "jacobi_takes_fewer_passes",
    "jacobi_translates_as_greedy",
    "learned_equals_wider_sinusoidal",
    "learned_pe_restores_order",
    "longest_but_few_is_enough",
    "loop_equals_matrix",
    "mates_matter_without_mask",
    "mha_params_at_fixed_d_head",
    "modern_alibi",
    "modern_gelu",
    "modern_one_deviation",
    "modern_pre_ln",
    "modern_confirmation_check",
    "modern_screen_aa",
    "modern_screen_planted",
    "no_pe_encoder_permutes",
    "no_pe_source_is_a_bag",
    "no_pe_target_of_one_layer_is_a_bag",
    "no_pe_target_of_two_layers_is_a_bag",
    "outputs_with_rows_masked",
    "padding_is_work",
    "parameters_of_heads",
    "penalised_beam_of_one_is_greedy",
    "preln_better_in_deep_stack",
    "preln_faster_without_warmup",
    "postln_needs_warmup",
    "preln_more_stable",
    "preln_needs_no_warmup",
    "random_company_costs_bleu",
    "rows_filled_with_a_large_number_are_finite",
    "rows_instead_of_columns",
    "scaling_keeps_the_gradient",
    "sinusoidal_better_beyond_training",
    "sinusoids_have_no_parameters",
    "smoothing_calibrates",
    "smoothing_costs_nll",
    "smoothing_variants_alike",
    "step_time_grows_with_heads",
    "unscaled_scores_ok",
    "warmup_matters_more_to_postln",
    "wider_beam_better",
}

CLAIMS = read_claims()
DOCUMENTS = {document.title: document for document in read_documents()}


def claims_of(study):
    """The claims of a study, and those of its screen."""
    return [*study.get("claims", []), *study.get("screen", {}).get("claims", {}).values()]


STUDIED = [
    (name, claim)
    for name, path in EXPERIMENTS.items()
    for claim in claims_of(yaml.safe_load(path.read_text()).get("study") or {})
]


def known_section(title, section):
    """Whether a document has the section, by its number too, or that which a detail is added to."""
    sections = [
        spelling
        for name in DOCUMENTS[title].sections
        for spelling in (name, name.partition(":")[0])
    ]
    return any(section == name or section.startswith(f"{name}, ") for name in sections)


def test_all_claims_are_there_once():
    assert len(CLAIMS) >= 213
    assert len({claim.id for claim in CLAIMS}) == len(CLAIMS)
    assert len({claim.statement for claim in CLAIMS}) == len(CLAIMS)


def test_every_claim_is_whole():
    may_be_empty = {"also_in", "factors"}
    for claim in CLAIMS:
        texts = dataclasses.asdict(claim)
        del texts["universal"]
        for name, text in texts.items():
            assert text == text.strip() and "  " not in text, claim.id
            assert text or name in may_be_empty, (claim.id, name)
        assert re.fullmatch(r"[a-z0-9_]+", claim.id)
        assert claim.statement.endswith("."), claim.id
        assert all(claim.factor_names), claim.id
    assert {claim.kind for claim in CLAIMS} == {"exact", "empirical", "cost"}


def test_every_claim_says_where_it_stands():
    for claim in CLAIMS:
        for section in claim.section.split("; "):
            assert known_section(claim.document, section), (claim.id, section)
        for place in filter(None, claim.also_in.split("; ")):
            title = next(title for title in DOCUMENTS if place.startswith(f"{title}, "))
            assert known_section(title, place.removeprefix(f"{title}, ")), (claim.id, place)


def test_every_section_of_the_documents_has_a_claim_or_is_cited():
    cited = " | ".join(f"{c.document}, {c.section}; {c.also_in}" for c in CLAIMS)
    for title, document in DOCUMENTS.items():
        assert document.original and title in cited
        for section, heading in document.sections.items():
            assert heading and section in cited, section


def test_studies_test_claims_of_the_ledger_or_claims_listed_here():
    studied, collected = {claim["id"] for _, claim in STUDIED}, {claim.id for claim in CLAIMS}
    assert studied - collected == ADDED
    assert not ADDED & collected


def test_studies_name_documents_as_the_ledger_does():
    sources = [(study, s) for study, claim in STUDIED for s in claim["source"].split("; ")]
    for study, source in sources:
        for title in (title for title in DOCUMENTS if source.startswith(title)):
            section = re.sub(r" \(.*\)$", "", source.removeprefix(title).lstrip(", "))
            assert known_section(title, section), f"{study}: {source}"


def test_the_catalogue_says_which_claims_allow_no_exception(monkeypatch):
    assert sum(claim.universal for claim in CLAIMS) == 17
    cells = {"yes": True, "no": False, "": False}
    for cell, universal in cells.items():
        table = f"id,statement,universal\na,It never helps.,{cell}\n"
        monkeypatch.setattr("ablate.ledger.verdicts.read_text", lambda _, table=table: table)
        assert [claim.universal for claim in read_claims()] == [universal]
    table = "id,statement,universal\na,It never helps.,perhaps\n"
    monkeypatch.setattr("ablate.ledger.verdicts.read_text", lambda _: table)
    with pytest.raises(ValueError, match="universal"):
        read_claims()
