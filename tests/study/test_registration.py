"""When a study was written down, and how often its runs were looked at."""

from ablate.study.registration import look, register, study_hash

STUDY = {"factors": ["a"], "claims": [{"id": "one", "margin": 1.0}], "seeds": 5, "literature": ""}
TOY, REAL = {"data": "toy"}, {"data": "multi30k"}


def test_a_study_is_registered_once(tmp_path):
    first = register(tmp_path, "mine", STUDY, TOY)
    again = register(tmp_path, "mine", STUDY, TOY)
    assert first == again
    assert first["earlier"] == []
    assert first["looked_at"] == []


def test_what_a_verdict_depends_on_makes_another_study(tmp_path):
    first = register(tmp_path, "mine", STUDY, TOY)
    changed = {**STUDY, "claims": [{"id": "one", "margin": 0.5}]}
    second = register(tmp_path, "mine", changed, TOY)
    assert second["earlier"] == [first["hash"]]
    assert register(tmp_path, "mine", STUDY, TOY)["earlier"] == []  # it was the first
    assert study_hash({**STUDY, "literature": "others say"}) == first["hash"]


def test_another_regime_has_a_registration_of_its_own(tmp_path):
    register(tmp_path, "mine", {**STUDY, "seeds": 2}, TOY)
    assert register(tmp_path, "mine", STUDY, REAL)["earlier"] == []


def test_every_further_set_of_seeds_is_a_look(tmp_path):
    known = register(tmp_path, "mine", STUDY, TOY)
    assert look(tmp_path, "mine", known, TOY, [1, 2])["looks"] == 0
    known = register(tmp_path, "mine", STUDY, TOY)
    assert look(tmp_path, "mine", known, TOY, [1, 2])["looks"] == 0  # the same once more
    assert look(tmp_path, "mine", known, TOY, [1, 2, 3])["looks"] == 1


def test_a_line_that_a_crash_left_unfinished_is_passed_over(tmp_path):
    known = register(tmp_path, "mine", STUDY, TOY)
    path = tmp_path / "studies" / "mine.jsonl"
    path.write_text(path.read_text() + '{"what": "lo')
    assert register(tmp_path, "mine", STUDY, TOY) == known


def test_words_for_a_metric_do_not_make_another_study():
    asked = {"id": "a", "metric": "probe/gap", "tolerance": 1e-9}
    said = {**asked, "measures": "the largest gap", "control_measures": "a shuffled copy"}
    assert study_hash({"claims": [said]}) == study_hash({"claims": [asked]})
    assert study_hash({"claims": [{**said, "tolerance": 1e-6}]}) != study_hash({"claims": [asked]})
