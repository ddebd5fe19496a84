"""What a newcomer reads first: findings, contradictions, forest plots and seeds still needed."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from mtbert.errors import DataError
from mtbert.reporting import answers, claimed, claims, findings, forest, needed, reasons
from mtbert.reporting.claims import Answer, Comparison, Verdict
from mtbert.reporting.sections.claims import draw, figure, verdict_of

EVERY = claims.load()
LIFT, TRAIL, FEWER = (EVERY.claims[name] for name in ("mypal-pals-lift", "minbert-pals-trail", "choose-fewer-pals"))
BEAT = EVERY.claims["mypal-all-beat-baseline"]
PALS = EVERY.contradictions["pals"]


def comparison(difference: float, seeds: int = 3) -> Comparison:
    return Comparison(
        ("a",), ("b",), "overall_raw", difference, difference - 0.01, difference + 0.02, 0.01, 0.02, seeds, 100, 0.03,
        {}, seed_sd=0.004, example_sd=0.001,
    )  # fmt: skip


def verdict(claim: claims.Claim, answer: Answer, *differences: float | None) -> Verdict:
    each = differences or [None if answer == "not run" else 0.03] * len(claim.parts)
    some = [None if one is None else comparison(one) for one in each]
    deciding = (0,) if answer in answers.PROVED else ()
    return Verdict(claim, answer, "", (answer,) * len(claim.parts), tuple(some), deciding=deciding)


def test_a_decided_claim_in_a_sentence_with_the_comparison_that_decided_it() -> None:
    minus = "\N{MINUS SIGN}"
    holding = replace(verdict(TRAIL, "holds", -0.05, -0.02, -0.03), look=3, deciding=(1,))
    assert findings.each([holding]) == [
        "With every sampler, PALs trail the model without. (MinBERT and PALs, 5.3) **Holds**: `minbert-pals-annealed` "
        f"{minus} `minbert-annealed` is proved to be below 0. 3 seeds: {minus}0.020 [{minus}0.030, +0.000] overall "
        f"(published: {minus}0.009)."
    ]
    shared = replace(comparison(0.03, seeds=6), unshared=-0.004)
    failing = replace(verdict(TRAIL, "does not hold", 0.05, 0.02, 0.03), look=3, deciding=(2,), beside="Elsewhere.")
    failing = replace(failing, comparisons=(*failing.comparisons[:2], shared))
    assert findings.each([failing]) == [
        "With every sampler, PALs trail the model without. (MinBERT and PALs, 5.3) **Does not hold**: "
        f"`minbert-pals-proportional` {minus} `minbert-proportional` is proved to be above 0. 6 seeds, decided by the "
        f"first 3: +0.030 [+0.020, +0.050] overall (published: {minus}0.001), but {minus}0.004 without rows that share "
        "a sentence with train. Elsewhere."
    ]
    assert findings.each([verdict(TRAIL, "cannot be told from these runs")]) == []


def test_what_an_open_claim_shows_so_far() -> None:
    minus, learning = "\N{MINUS SIGN}", "cannot be told: still learning"
    assert claimed.so_far(verdict(FEWER, "cannot be told: still learning", 0.02, None, -0.003)) == (
        f"So far, 3 seeds: `choose-zero` {minus} `choose-half`: +0.020 [+0.010, +0.040] normalised overall "
        f"(published: +0.004); `choose-half` {minus} `choose-full`: {minus}0.003 [{minus}0.013, +0.017] "
        "normalised overall (published: +0.003)."
    )
    once = replace(verdict(LIFT, "cannot be told from these runs"), comparisons=(comparison(0.01, 1), comparison(0.1)))
    assert claimed.so_far(once) == (  # its second part is confounded
        f"So far, one seed: `mypal-pals` {minus} `mypal-no-pals`: +0.010 normalised overall. Not counted, as "
        f"pair_encoding, sampler, steps_per_epoch differ as well: `mypal-pals` {minus} `mypal-baseline`: "
        "+0.100 [+0.090, +0.120] normalised overall (published: +0.157)."
    )
    shared = replace(comparison(-0.02), unshared=0.004)
    assert claimed.so_far(Verdict(LIFT, learning, "", (learning,) * 2, (shared, None))).endswith(
        f"{minus}0.020 [{minus}0.030, +0.000] normalised overall, but +0.004 without rows that share a sentence with "
        "train."
    )
    assert "without rows" not in claimed.so_far(verdict(LIFT, learning, -0.02, None))
    many = Verdict(claim := EVERY.claims["rivals-rules"], learning, "", (learning,) * len(claim.parts),
                   (comparison(0.01),) * len(claim.parts))  # fmt: skip
    assert claimed.so_far(many).endswith(f"; and {len(claim.parts) - 4} more.")
    assert claimed.so_far(verdict(TRAIL, "holds")) == claimed.so_far(verdict(LIFT, "not run", None, None)) == ""
    lifting = findings.standings([PALS], [once, verdict(TRAIL, "holds"), verdict(FEWER, "not run", None, None, None)])
    assert [claims for _, claims in lifting[0].sides] == [
        [
            f"My PAL BERT, 6: cannot be told from these runs. So far, one seed: `mypal-pals` {minus} `mypal-no-pals`: "
            "+0.010 normalised overall."
        ],
        ["MinBERT and PALs, 5.3: holds.", "Choose Your PALs Wisely, 5.4: not run."],
    ]


def test_a_question_shows_the_differences_that_answer_it_once() -> None:
    minus = "\N{MINUS SIGN}"
    others = [verdict(LIFT, "not run"), verdict(TRAIL, "cannot be told: trained by faulty code")]
    three = replace(verdict(FEWER, "cannot be told: still learning", 0.02, -0.01, 0.003), beside="Elsewhere.")
    first, again = findings.standings([PALS, PALS], [*others, three])  # its third comparison is of half and all PALs
    faulty = "MinBERT and PALs, 5.3: cannot be told: trained by faulty code."
    assert first.sides[1][1] == [
        faulty,
        "Choose Your PALs Wisely, 5.4: cannot be told: still learning. So far, 3 seeds: "
        f"`choose-zero` {minus} `choose-half`: +0.020 [+0.010, +0.040] normalised overall (published: +0.004); "
        f"`choose-zero` {minus} `choose-full`: {minus}0.010 [{minus}0.020, +0.010] normalised overall "
        "(published: +0.007). Elsewhere.",
    ]
    assert again.sides[1][1] == [
        faulty,
        "Choose Your PALs Wisely, 5.4: cannot be told: still learning. Its differences are above.",
    ]
    assert findings.contradicted([first]).startswith(
        "### Where the reports disagree\n\n**Do PALs raise the overall score of a model of three tasks?** Open.\n\n"
        "- *PALs lift it.* My PAL BERT, 6: not run.\n- *PALs lower it.* MinBERT and PALs, 5.3: cannot be told: trained "
    )
    assert findings.contradicted([]) == ""


def test_what_matters_is_told_by_score_and_with_the_claims_that_set_another_size() -> None:
    close = EVERY.claims["pals-close-to-single"]
    assert claimed.matters([verdict(LIFT, "not run"), verdict(FEWER, "not run"), verdict(close, "not run")]) == (
        "0.01 for normalised overall; 0.02 for overall"
    )
    assert "(`bert-sst`, `bert-qqp`, `bert-sts`)" in claimed.pair(close.parts[0])


def test_how_much_is_decided() -> None:
    answers: list[Answer] = [
        "holds",
        "real, but smaller than what matters",
        "not run",
        "cannot be told: still learning",
        "cannot be told: trained by faulty code",
        "cannot be told from these runs",
    ]
    assert findings.decided([verdict(LIFT, answer) for answer in answers]) == (
        "**2 of 6 claims are decided**: 1 holds, 1 holds by less than what matters, 0 do not. "
        "3 are open (1 as the code that trained them had a fault, 1 as models are still learning, which need longer "
        "trainings, 1 as the runs do not tell yet), and 1 was not run."
    )
    assert findings.decided([verdict(LIFT, "cannot be told from these runs")]) == (
        "**0 of 1 claims are decided**. 1 is open (1 as the runs do not tell yet), and 0 were not run."
    )


def test_what_stands_apart_of_open_claims_decides_nothing() -> None:
    minus = "\N{MINUS SIGN}"
    open_one = verdict(LIFT, "cannot be told: still learning", 0.005, 0.15)
    few = verdict(FEWER, "cannot be told from these runs", 0.03, None, None)
    few = replace(few, comparisons=(comparison(0.03, seeds=2), None, None))
    three = verdict(EVERY.claims["mypal-annealed-small-tasks"], "cannot be told from these runs", 0.05, None, -0.03)
    assert findings.apart([three]) == [
        f"`mypal-annealed` {minus} `mypal-pals`: +0.050 [+0.040, +0.070] SST-5 (published: +0.066); {minus}0.030 "
        f"[{minus}0.040, {minus}0.010] QQP (published: {minus}0.002), against the claim"
    ]
    assert findings.apart([open_one, open_one, few, verdict(TRAIL, "holds")]) == [
        f"`mypal-pals` {minus} `mypal-baseline`: +0.150 [+0.140, +0.170] normalised overall (published: +0.157); "
        "not counted, as pair_encoding, sampler, steps_per_epoch differ as well"
    ]
    whole = verdict(BEAT, "cannot be told: still learning", None, None, 0.15, None, None, None)
    assert findings.apart([open_one, whole])[0] == (  # what does not count comes last
        f"`mypal-simcse` {minus} `mypal-baseline`: +0.150 [+0.140, +0.170] normalised overall (published: +0.191); "
        "whole recipes: adapter, objectives, pair_encoding, sampler differ"
    )
    assert findings.about_apart([open_one, whole]).startswith(  # one of the three is confounded
        "Open claims name 2 differences. 1 has a 95 % interval that leaves out 0, where chance alone would give "
        "fewer than one. This decides nothing"
    )
    assert findings.so_far([few]) == []
    faulty = verdict(BEAT, "cannot be told: trained by faulty code", None, None, 0.15, None, None, None)
    assert findings.apart([faulty]) == []
    assert findings.about_apart([open_one, faulty]).startswith(
        "Open claims name 1 difference between models of sound code. 0 have a 95 % interval"
    )


def test_a_bar_goes_nowhere_where_its_interval_begins_beyond_the_difference() -> None:
    assert forest.bar(replace(comparison(0.25), low=0.375, high=0.5), reach=1.0) == (0.0, 0.25)
    assert forest.bar(replace(comparison(0.25), low=0.0, high=0.125), reach=1.0) == (0.25, 0.0)


def test_what_makes_no_difference_so_far_is_said_and_decides_nothing_either() -> None:
    same = replace(comparison(0.0, seeds=10), low=-0.0098, high=0.01)
    closer = replace(same, low=-0.005, high=0.0046)
    all_three = EVERY.claims["mypal-pals-lift-all"]  # what matters is 0.010, 0.005 and 0.010
    each = (same, same, closer)
    learning = replace(verdict(all_three, "cannot be told: still learning"), comparisons=(*each, None, None, None))
    assert [part.matters for part in all_three.parts[:3]] == [0.01, 0.005, 0.01]
    assert findings.so_far([learning]) == [
        (
            "Differences of open claims whose 95 % interval lies within what matters (0.005 for QQP; 0.01 for "
            "SST-5, STS-B): too small to choose by, so far. This is not corrected, and decides nothing.",
            [
                "`mypal-pals` \N{MINUS SIGN} `mypal-no-pals`: +0.000 [\N{MINUS SIGN}0.010, +0.010] SST-5; "
                "+0.000 [\N{MINUS SIGN}0.005, +0.005] STS-B"
            ],
        )
    ]
    larger = replace(learning, comparisons=(replace(same, high=0.0104), same, None, None, None, None))
    assert findings.so_far([larger]) == []


def test_a_part_of_an_open_claim_decides_nothing_by_itself() -> None:
    answers: tuple[Answer, ...] = ("holds", "cannot be told from these runs", "does not hold")
    of_open = replace(verdict(TRAIL, "cannot be told from these runs"), answers=answers)
    assert [claimed.alone(of_open, at) for at in range(3)] == [
        "alone: holds", "cannot be told from these runs", "alone: does not hold",
    ]  # fmt: skip
    assert {line.answer for line in forest.of([of_open]).lines} == {"cannot be told from these runs"}
    assert [part["badge"].colour for part in verdict_of(of_open)["parts"]] == ["open", "open", "open"]
    refuted = replace(of_open, answer="does not hold", answers=("does not hold", *answers[1:]), deciding=(2,))
    assert [claimed.alone(refuted, at) for at in range(3)] == [
        "alone: does not hold", "cannot be told from these runs", "does not hold",
    ]  # fmt: skip
    assert [line.answer for line in forest.of([refuted]).lines] == [answers[1], answers[1], "does not hold"]


def test_a_claim_that_fails_by_what_the_question_does_not_ask_for_is_on_no_side() -> None:
    failing = verdict(FEWER, "does not hold")
    half, both = (replace(failing, deciding=at) for at in ((2,), (2, 1)))  # half against all; and none against all
    others = [verdict(LIFT, "not run"), verdict(TRAIL, "not run")]
    (by_half,), (by_both,) = (findings.standings([PALS], [*others, one]) for one in (half, both))
    assert [one.evidence for one in (by_half, by_both)] == [
        "Open.", "Against this side: PALs lower it. The other is not decided.",
    ]  # fmt: skip
    assert [one.sides[1][1][1] for one in (by_half, by_both)] == [
        "Choose Your PALs Wisely, 5.4: does not hold, by a comparison that this question does not ask for.",
        "Choose Your PALs Wisely, 5.4: does not hold.",
    ]


@pytest.mark.parametrize(
    ("only", "allowed"),
    [
        ("{choose-fewer-pals: [4]}", "[1, 2, 3]"),
        ("{choose-fewer-pals: []}", "[1, 2, 3]"),
        ("{mypal-all-beat-baseline: [1]}", "[]"),
    ],
)
def test_comparisons_that_answer_a_question_have_to_be_there(only: str, allowed: str, tmp_path: Path) -> None:
    given = claims.FILE.read_text().replace("only: {choose-fewer-pals: [1, 2]}", f"only: {only}")
    (tmp_path / "claims.yaml").write_text(given)
    with pytest.raises(DataError, match=re.escape(f"some of its comparisons that count, from 1: {allowed}")):
        claims.load(tmp_path / "claims.yaml")


@pytest.mark.parametrize(
    ("expects", "published", "holds", "fails"),
    [
        ("higher", None, "above 0", "below +0.01"),
        ("higher", 0.004, "above 0", "below 0"),
        ("lower", None, "below 0", "above \N{MINUS SIGN}0.01"),
        ("lower", -0.004, "below 0", "above 0"),
        ("close", 0.004, "within 0.01 of 0", "farther than 0.01 from 0"),
        ("not higher", 0.0, "below +0.01", "above +0.01"),
    ],
)
def test_what_is_proved_where_a_claim_is_decided(expects: str, published: float | None, holds: str, fails: str) -> None:
    part = LIFT.parts[0].model_copy(update={"expects": expects, "published": published, "matters": 0.01})
    assert (reasons.proved(part, "holds"), reasons.proved(part, "does not hold")) == (holds, fails)


@pytest.mark.parametrize(
    ("lift", "trail", "fewer", "evidence"),
    [
        ("holds", "does not hold", "not run", "With this side: PALs lift it."),
        ("cannot be told from these runs", "holds", "holds", "With this side: PALs lower it."),
        ("does not hold", "not run", "not run", "Against this side: PALs lift it. The other is not decided."),
        ("does not hold", "does not hold", "not run", "With neither: the claims of both sides fail."),
        ("holds", "holds", "not run", "With both: each holds for the models that it compares."),
        ("does not hold", "holds", "holds", "With this side: PALs lower it."),
        ("not run", "holds", "does not hold", "Open."),
        ("not run", "not run", "not run", "Open."),
    ],
)
def test_which_side_of_a_contradiction_the_evidence_is_on(lift: Answer, trail: Answer, fewer: Answer, evidence: str):
    (found,) = findings.standings([PALS], [verdict(LIFT, lift), verdict(TRAIL, trail), verdict(FEWER, fewer)])
    assert found.evidence == evidence
    assert found.sides[0][0] == "PALs lift it."
    assert found.sides[0][1][0].startswith(f"My PAL BERT, 6: {lift}.")


@pytest.mark.parametrize(
    ("lift", "paraphrase", "fewer", "evidence"),
    [
        ("not run", "holds", "not run", "Open."),
        ("not run", "holds", "holds", "With this side: They help paraphrases and cost the overall score."),
        ("holds", "holds", "does not hold", "With this side: They lift all three tasks."),
    ],
)
def test_a_side_that_says_two_things_needs_both(lift: Answer, paraphrase: Answer, fewer: Answer, evidence: str):
    names = ("mypal-pals-lift-all", "choose-full-pals-paraphrase", "choose-fewer-pals")
    judged = [verdict(EVERY.claims[name], said) for name, said in zip(names, (lift, paraphrase, fewer), strict=True)]
    (found,) = findings.standings([EVERY.contradictions["pals-paraphrases"]], judged)
    assert found.evidence == evidence


def test_of_two_claims_of_the_same_pair_the_printed_difference_is_kept() -> None:
    close = verdict(EVERY.claims["pals-close-to-single"], "cannot be told: still learning", -0.05)
    field = verdict(EVERY.claims["rivals-pals-single"], "cannot be told: still learning", -0.05)
    for order in ((close, field), (field, close)):
        (line,) = findings.apart(order)
        assert line.endswith("overall (published: \N{MINUS SIGN}0.012), against the claim")


def test_of_many_differences_chance_alone_gives_one_in_twenty() -> None:
    rows = [EVERY.claims["rivals-rules"], EVERY.claims["rivals-rules-fixed"]]
    many = [verdict(one, "cannot be told: still learning", *[0.0] * len(one.parts)) for one in rows]
    assert findings.about_apart(many).startswith(
        "Open claims name 22 differences. 0 have a 95 % interval that leaves out 0, where chance alone would give "
        "about 1. "
    )


def test_against_a_claim_is_an_interval_that_is_whole_beyond_what_it_allows() -> None:
    assert [part.matters for part in EVERY.claims["rivals-lora"].parts] == [0.01]  # not higher
    for difference, against in ((0.017, False), (0.02, False), (0.021, True)):  # from 0.007, 0.010 and 0.011 on
        (line,) = findings.apart([verdict(EVERY.claims["rivals-lora"], "cannot be told: still learning", difference)])
        assert line.endswith("against the claim") == against


def test_two_claims_of_one_section_that_came_to_the_same_are_said_once() -> None:
    together = EVERY.contradictions["together"]
    names = [name for side in together.sides for name in side.claims]
    (found,) = findings.standings([together], [verdict(EVERY.claims[name], "not run") for name in names])
    assert [claims for _, claims in found.sides] == [
        ["MinBERT and PALs, 5.3: not run."],
        ["Choose Your PALs Wisely, 6: not run."],
    ]


def test_a_contradiction_is_between_papers() -> None:
    side = {"says": "So.", "claims": "minbert-pals-trail"}
    one = {"question": "Q?", "sides": [side, side]}
    with pytest.raises(ValueError, match=r"contradictions.x: one paper on both sides"):
        claims.Claims(**{**dict(EVERY), "contradictions": {"x": one}})
    unknown = {"question": "Q?", "sides": [side, {"says": "No.", "claims": "nobody"}]}
    with pytest.raises(ValueError, match=r"contradictions.x: unknown claims nobody"):
        claims.Claims(**{**dict(EVERY), "contradictions": {"x": unknown}})


def test_a_forest_has_a_line_a_comparison_below_its_statement() -> None:
    one = forest.of([verdict(TRAIL, "holds", -0.05, None, 0.03)])
    assert [(head.y, head.text) for head in one.heads] == [
        (0, "With every sampler, PALs trail the model"),
        (-1, "without. [holds]"),
    ]
    assert [(line.y, line.short, line.comparison is None) for line in one.lines] == [
        (-2, "overall", False), (-3, "overall", True), (-4, "overall", False),
    ]  # fmt: skip
    assert one.lines[0].label == "minbert-pals-round-robin \N{MINUS SIGN} minbert-round-robin, overall"
    assert (one.height, round(one.reach, 4)) == (5, 0.069)
    assert forest.placed(-0.02, 0.115) == (-0.02, False)
    assert forest.placed(0.5, 0.115) == (pytest.approx(0.108), True)


def test_the_figure_of_a_forest() -> None:
    made = verdict(TRAIL, "holds", -0.05, None, 0.03)
    made = replace(made, answers=("holds", "not run", "does not hold"), deciding=(0, 2))
    shown = figure(forest.by_paper([made])["minbert-pals"])
    band, holds, fails, published = shown["data"]
    assert (band["base"], band["x"]) == ([-0.01] * 3, [0.02] * 3)
    assert (holds["x"], holds["error_x"]["array"], holds["error_x"]["arrayminus"]) == ([-0.05], [0.02], [0.01])
    assert [trace["meta"]["colour"] for trace in shown["data"]] == ["line", "yes", "no", "muted"]
    assert (fails["x"], published["x"]) == ([0.03], [-0.037, -0.009, -0.001])
    assert shown["ticks"]["narrow"] == ["overall"] * 3
    assert forest.by_paper([verdict(TRAIL, "not run", None, None, None)]) == {}


def test_a_difference_that_does_not_count_leaves_the_axis_to_those_that_do() -> None:
    shown = figure(forest.of([verdict(LIFT, "cannot be told from these runs", 0.01, 0.3)]))
    assert shown["layout"]["xaxis"]["range"] == [pytest.approx(-0.0345), pytest.approx(0.0345)]
    (open_ones,) = [trace for trace in shown["data"] if trace["meta"]["colour"] == "open"]
    assert (open_ones["x"], open_ones["marker"]["symbol"]) == ([0.01, 0.0324], ["circle", "triangle-right"])
    assert open_ones["error_x"]["array"] == [0.02, 0.0]


def test_an_interval_that_goes_beyond_the_edge_ends_in_a_triangle_there() -> None:
    wide = replace(comparison(0.02), low=-0.3, high=0.03)
    made = replace(verdict(LIFT, "cannot be told from these runs", 0.01, 0.3), comparisons=(comparison(0.01), wide))
    one = forest.of([made])
    (open_ones,) = [trace for trace in figure(one)["data"] if trace["meta"]["colour"] == "open"]
    assert open_ones["x"] == [0.01, 0.02, -0.0324]
    assert open_ones["marker"]["symbol"] == ["circle", "circle", "triangle-left"]
    assert open_ones["error_x"]["arrayminus"] == [0.01, 0.0524, 0.0]
    marks = [(line.get_marker(), round(float(line.get_xdata()[0]), 4)) for line in draw(one).axes[0].lines]  # pyright: ignore
    assert [mark for mark in marks if mark[0] in "o<>"] == [("o", 0.01), ("o", 0.02), ("<", -0.0324), (">", 0.0314)]


def test_comparisons_of_which_nothing_can_be_drawn_are_counted_in_a_line() -> None:
    rules = EVERY.claims["rivals-rules"]
    one = forest.of([verdict(rules, "not run")])
    assert (one.lines, [note.text for note in one.notes]) == ([], ["11 comparisons, not run"])
    assert (one.notes[0].y, one.height) == (-len(one.heads), len(one.heads) + 1)
    assert figure(one)["heads"][-1] == {"y": one.notes[0].y, "text": "<i>11 comparisons, not run</i>"}
    published = forest.of([verdict(TRAIL, "not run", None, None, None)])
    assert (len(published.lines), published.notes) == (3, [])  # what the paper prints is shown


def test_what_faulty_code_trained_is_hollow_and_what_is_published_looks_alike_everywhere() -> None:
    made = verdict(TRAIL, "cannot be told: trained by faulty code", -0.05, None, 0.03)
    one = forest.of([made])
    _, ours, published = figure(one)["data"]
    assert (ours["name"], ours["meta"]) == ("trained by faulty code", {"colour": "open", "hollow": True})
    assert published["marker"]["symbol"] == ["diamond-open"] * 3
    far = figure(forest.of([verdict(LIFT, "not run", 0.01, None)]))["data"][-1]
    assert (far["x"], far["marker"]["symbol"]) == ([0.0314], ["triangle-right-open"])
    picture = draw(one)
    fills = [
        (line.get_marker(), line.get_markerfacecolor()) for line in picture.axes[0].lines if line.get_marker() in "oD"
    ]
    assert fills == [("o", "white"), ("D", "none"), ("D", "none"), ("o", "white"), ("D", "none")]
    assert [text.get_text() for text in picture.legends[0].get_texts()] == [
        "trained by faulty code", "published", "less than what matters",
    ]  # fmt: skip


def test_seeds_still_needed_of_open_claims_alone() -> None:
    told = [
        verdict(TRAIL, "cannot be told from these runs"),
        verdict(FEWER, "holds"),
        verdict(LIFT, "not run", None, None),
    ]
    found = needed.of_claims(told)
    assert found[["claim", "seeds"]].to_numpy().tolist() == [["minbert-pals-trail", 3], ["mypal-pals-lift", 0]]
    trail, lift = found["needed"]
    assert 3 <= trail < lift  # the noise that was measured is a part of what the simulation assumes
    assert [line["seeds so far"] for line in needed.still(found)] == ["3", "0"]


def test_seeds_for_what_the_paper_prints_where_it_prints_all() -> None:
    tuned, wide, lift = (EVERY.claims[name] for name in ("choose-finetuning", "minbert-wider-pals", "mypal-pals-lift"))
    lines = needed.still(
        needed.of_claims([verdict(claim, "not run", *[None] * len(claim.parts)) for claim in (tuned, wide, lift)])
    )
    by_claim = {line["claim"]: (line["needed for what matters"], line["for what is published"]) for line in lines}
    assert by_claim[tuned.statement] == ("dev is too small", "3")  # 0.01, and 0.130 and 0.183
    assert by_claim[wide.statement][1] == by_claim[lift.statement][1] == ""  # `close`; none printed that counts
