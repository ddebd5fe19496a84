"""What the papers claim beside what our runs say of it, by the rule of docs/verdicts.md: one table, and its words."""

import json
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pandas as pd

from mtbert import claims
from mtbert.claims import ClaimResult, Part, PartResult, Reason, Stability, Verdict
from mtbert.report import markdown
from mtbert.report.published import TITLES
from mtbert.report.study import Study
from mtbert.results.tables import EXAMPLES, Frame
from mtbert.tasks import TASKS

VERDICTS = {
    Verdict.HOLDS: "holds", Verdict.FAILS: "does not hold", Verdict.SMALL: "real, but smaller than what matters",
    Verdict.TOO_CLOSE: "too close to call",
}  # fmt: skip
REASONS = {
    Reason.NOT_RUN: "not run", Reason.FAULTY_CODE: "cannot be told: trained by faulty code",
    Reason.UNLIKE_RUNS: "cannot be compared: made otherwise", Reason.UNEQUAL_BUDGETS: "cannot be told: unequal budgets",
    Reason.ENCODER: "cannot be tested with this encoder", Reason.FEW_SEEDS: "open: fewer than six seeds",
    Reason.FEW_CLUSTERS: "cannot be told: too few rows", Reason.FLIPS: "cannot be told: flips with the budget",
}  # fmt: skip
STABILITY = {Stability.STEADY: "steady", Stability.SHRINKING: "shrinking", Stability.GROWING: "growing",
             Stability.FLIPS: "flips"}  # fmt: skip
HEADINGS = {
    **markdown.HEADINGS,
    "overall_raw": "overall",
    "overall_normalised": "normalised",
    "overfitting": "overfitting",
}
ABOUT = (
    "A claim is judged by six seeds, corrected over its paper's claims: docs/verdicts.md has the rule. Ours is the "
    "difference of the two rows with its 95 % interval. A verdict speaks of this setting alone"
)


def judge(study: Study, third: Study | None = None) -> list[ClaimResult]:
    """Judge every claim whose models are in the results; on data of one's own none. Errors as for `at_a_third`."""
    if study.results.data.whose == "own":
        return []
    every = claims.load()
    whole = evidence(study, every.faulty)
    before = None if third is None else claims.at_a_third(whole, evidence(third))
    results = claims.judge(every.claims.values(), whole, before)
    return [result for result in results if result.reason is not Reason.NOT_RUN]


def evidence(study: Study, faulty: Collection[str] = ()) -> claims.Evidence:
    """Return the results in the form that the rule takes; `faulty` is code in which a fault is known."""
    tasks = {task: rows for task in TASKS if (rows := _rows(study, task)) is not None}
    return claims.Evidence(pd.DataFrame(_lines(study)), tasks, study.untrained, faulty)


def _rows(study: Study, task: str) -> claims.TaskRows | None:
    """All runs' predictions of the dev rows whose labels are known; None where there are none."""
    runs = {(name, seed): table for name, seed, table in study.results.of(task, "dev") if table["label"].notna().any()}
    if not runs:
        return None
    first = next(iter(runs.values()))
    overall = np.any([table["overall"].to_numpy() for table in runs.values()], axis=0)
    said = {run: np.where(table["scored"], table["prediction"].astype(float), np.nan) for run, table in runs.items()}
    cluster, alone = first["cluster"].to_numpy(), np.arange(len(first))
    leaked = np.asarray(first["in_train"] | first["shares"], dtype=bool)
    clusters = np.where(cluster < 0, alone + cluster.max() + 1, cluster)
    return claims.TaskRows(first["label"].to_numpy(float), clusters, said, overall, leaked)


def _lines(study: Study) -> list[dict[str, object]]:
    """One line a run; of a vote, with what its members have in common, and the sum of what they trained on."""
    by_run = {(run["variant"], run["seed"]): run for run in study.runs.to_dict("records")}
    lines = []
    for (name, seed), run in by_run.items():
        members = [by_run[member, seed] for member in study.about[name].members if (member, seed) in by_run] or [run]
        settings = json.loads(members[0]["settings"])
        model, kept = settings.get("model") or {}, settings.get("run") or {}
        told: dict[str, Any] = {key: _sum(members, key) for key in EXAMPLES} | {"updates": _sum(members, "steps")}
        told |= {key: kept.get(key) for key in ("keep", "selection")} | {"profile": settings.get("profile")}
        told |= {key: members[0][key] for key in ("code", "precision", "threads")}
        told |= {"encoder": "sbert" if model.get("encoder") == "sbert" else None}
        told |= {"sts_head": ((model.get("heads") or {}).get("sts") or {}).get("name")}
        told |= {"techniques": json.dumps(settings.get("sources") or {})}
        train = run["train_overall_normalised"]
        lines.append({"variant": name, "seed": seed, "train_overall_normalised": train} | told)
    return lines


def _sum(members: Sequence[dict], key: str) -> float:
    values = [0.0 if pd.isna(run[key]) else float(run[key]) for run in members]
    return float("nan") if all(pd.isna(run[key]) for run in members) else sum(values)


def answer(result: ClaimResult) -> str:
    """Return the verdict, or why there is none, in words."""
    return VERDICTS[result.verdict] if result.verdict else REASONS[result.reason] if result.reason else "open"


def pair(part: Part) -> str:
    """Return such as `a - b, SST-5`: whose difference it is; in brackets where it decides nothing."""
    ours, other = (" + ".join(side) for side in (part.ours, part.other))
    said = f"{ours} {markdown.MINUS} {other}, {HEADINGS[part.metric]}"
    return f"({said})" if part.confounded else said


def render(study: Study, results: Sequence[ClaimResult]) -> str:
    """Return the claims as one table, a line for each comparison that was run."""
    lines = [
        {"compared": pair(part.part), "verdict of the claim": answer(result)}
        | _line(part)
        | {"claim": result.claim.statement, "paper": _told_by(result)}
        for result in results
        for part in result.parts
        if part.difference is not None
    ]
    if not lines:
        return ""
    counts = ", ".join(f"{count} {said}" for said, count in Counter(map(answer, results)).most_common())
    where = f"{ABOUT}: profile {study.profile}, encoder {markdown.literal(study.results.start.name)}."
    return f"## Claims\n\n{len(results)} claims: {counts}.\n\n{where}\n\n{markdown.lined(lines, 2)}"


def _told_by(result: ClaimResult) -> str:
    return f"{result.claim.source or TITLES[result.claim.paper]}, {result.claim.section}"


def _line(part: PartResult) -> dict[str, str]:
    found = part.difference
    assert found is not None  # only such parts have a line
    low, high = found.interval or (None, None)
    said = f"{markdown.number(found.mean, '+')} {markdown.interval(low, high, '+')}".rstrip()
    return {
        "says": part.part.expects, "published": markdown.number(part.part.published, "+"),
        "ours": said, "leak-free": markdown.number(part.leak_free, "+"), "margin": f"{part.part.margin:g}",
        "seeds": " / ".join(map(str, found.seeds)),
        "at a third of the budget": markdown.number(part.third and part.third.mean, "+"),
        "steadiness": STABILITY[part.stability] if part.stability else "",
        "reason": REASONS[part.reason] if part.reason else "",
    }  # fmt: skip


def frame(results: Sequence[ClaimResult]) -> Frame:
    """Return claims.csv: a line for each comparison."""
    return pd.DataFrame([_values(result, part) for result in results for part in result.parts])


def _values(result: ClaimResult, part: PartResult) -> dict[str, object]:
    claim, of, found = result.claim, part.part, part.difference
    low, high = (found and found.interval) or (None, None)
    return {
        "claim": claim.name, "paper": claim.paper, "source": claim.source, "section": claim.section,
        "statement": claim.statement, "verdict": answer(result), "p_holds": result.p_holds, "p_fails": result.p_fails,
        "p_small": result.p_small, "ours": " ".join(of.ours), "other": " ".join(of.other), "metric": of.metric,
        "expects": of.expects, "published": of.published, "margin": of.margin, "confounded": ", ".join(of.confounded),
        "difference": found and found.mean, "low": low, "high": high, "p": found and found.p,
        "leak_free": part.leak_free, "seeds": found and " / ".join(map(str, found.seeds)),
        "rows": found and found.rows, "third": part.third and part.third.mean,
        "reason": REASONS[part.reason] if part.reason else "",
        "stability": STABILITY[part.stability] if part.stability else "", "unlike": ", ".join(part.unlike),
    }  # fmt: skip
