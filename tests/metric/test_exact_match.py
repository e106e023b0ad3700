from ablate.metric import ExactMatch


def test_the_share_of_lines_that_are_alike():
    assert ExactMatch()(["x"] * 4, ["a b", " a", "A", ""], ["a b", "a ", "a", "b"]) == 0.5
    assert ExactMatch()([], [], []) == 0
