"""Tables for the terminal: names stay apart."""

from mtbert.reporting import terminal


def test_names_are_cut_in_the_middle() -> None:
    assert terminal.shortened(["Original PALs", "Share Layer + Gradient Surgery"]) == [
        "Original PALs", "Share Lay… Surgery",
    ]  # fmt: skip


def test_no_two_names_are_cut_to_the_same() -> None:
    names = ["Share Layer (a) with Gradient Surgery", "Share Layer (b) with Gradient Surgery"]
    shown = terminal.shortened(names)
    assert len(set(shown)) == 2
    assert len(shown[0]) > terminal.LABEL_WIDTH
    assert terminal.shortened(["the very same name twice", "the very same name twice"]) == ["the very …me twice"] * 2
