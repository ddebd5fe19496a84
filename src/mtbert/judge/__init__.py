"""What results prove, by the rule of docs/verdicts.md: enums and numbers, no word of English.

The stage `judge`, `mtbert report` and interim answers call one function; the report renders what it returns.

judgement = judge(results, third, plan)    # rows of models with intervals; comparisons with verdicts
tables.write(judgement, folder)            # rows.parquet and comparisons.parquet
judgement = tables.read(folder, results, plan)
"""

from mtbert.judge.answer import STUDY, UNKNOWN, Answer, Plan, plan_of
from mtbert.judge.budget_runs import BudgetRuns, TaskRows, at_a_third, of_results
from mtbert.judge.confirmation import Confirmation, Confirmed
from mtbert.judge.judgement import Judgement, judge
from mtbert.judge.judging import OBSTACLES, ClaimResult, Comparison, judge_claims
from mtbert.judge.models import RIVALS, Models
from mtbert.judge.reading import OVERFITTING, Claim, Claims, Part, load
from mtbert.judge.rows import Below, Check, MayGain, Row
from mtbert.judge.rule import SEEDS, Verdict

__all__ = [
    "OBSTACLES", "OVERFITTING", "RIVALS", "SEEDS", "STUDY", "UNKNOWN", "Answer", "Below", "BudgetRuns", "Check",
    "Claim", "ClaimResult", "Claims", "Comparison", "Confirmation", "Confirmed", "Judgement", "MayGain", "Models",
    "Part", "Plan", "Row", "TaskRows", "Verdict", "at_a_third", "judge", "judge_claims", "load", "of_results",
    "plan_of",
]  # fmt: skip
