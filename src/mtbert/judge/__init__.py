"""What results prove, by the rule of docs/verdicts.md: enums and numbers, no word of English.

The report and `mtbert.replication`, which adds the papers' claims, render what is returned.

judgement = judge(Scoreboard(results), plan)  # rows of models with intervals; comparisons with verdicts
tables.write(judgement, folder)     # rows.parquet and comparisons.parquet
judgement = tables.read(folder, results, plan)
"""

from mtbert.judge.answer import NO_PLAN, STUDY, Answer, Plan, plan_of
from mtbert.judge.budget_runs import OVERFITTING, BudgetRuns, TaskRows
from mtbert.judge.confirmation import Confirmation
from mtbert.judge.judgement import Judgement, judge
from mtbert.judge.rows import MayGain, Row, Scoreboard
from mtbert.judge.rule import SEEDS, Comparison, Verdict

__all__ = [
    "NO_PLAN",
    "OVERFITTING",
    "SEEDS",
    "STUDY",
    "Answer",
    "BudgetRuns",
    "Comparison",
    "Confirmation",
    "Judgement",
    "MayGain",
    "Plan",
    "Row",
    "Scoreboard",
    "TaskRows",
    "Verdict",
    "judge",
    "plan_of",
]  # fmt: skip
