"""What results prove, by the rule of docs/verdicts.md: enums and numbers, no word of English.

The report and `mtbert.replication`, which adds the papers' claims, render what is returned.

judgement = judge(Scoreboard(results), request)  # rows of models with intervals; comparisons with verdicts
tables.write(judgement, folder)     # rows.parquet and comparisons.parquet
judgement = tables.read(folder, results, request)
"""

from mtbert.judge.answer import STUDY, UNKNOWN, Answer, Request, request_of
from mtbert.judge.budget_runs import OVERFITTING, BudgetRuns, TaskRows, of_results
from mtbert.judge.confirmation import Confirmation
from mtbert.judge.judgement import Judgement, judge
from mtbert.judge.rows import MayGain, Row
from mtbert.judge.rule import SEEDS, Comparison, Part, Verdict
from mtbert.judge.scoreboard import Scoreboard

__all__ = [
    "OVERFITTING", "SEEDS", "STUDY", "UNKNOWN", "Answer", "BudgetRuns", "Comparison", "Confirmation",
    "Judgement", "MayGain", "Part", "Request", "Row", "Scoreboard", "TaskRows",
    "Verdict", "judge", "of_results", "request_of",
]  # fmt: skip
