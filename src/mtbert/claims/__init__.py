"""Judge the papers' claims by the rule of docs/verdicts.md: from runs to verdicts and numbers, no word of English.

every = claims.load()                                          # Claims: claims by name, margins
whole = claims.of_results(results)                             # BudgetRuns: the whole budget
third = claims.at_a_third(whole, claims.of_results(others))    # a third of it
results = claims.judge(every.claims.values(), whole, third)    # one ClaimResult a claim, in their order
"""

from mtbert.claims.budget_runs import BudgetRuns, TaskRows, are_unequal, at_a_third, of_results
from mtbert.claims.judging import OBSTACLES, ClaimResult, Comparison, judge
from mtbert.claims.reading import Claim, Claims, Part, load, margins
from mtbert.claims.rule import SEEDS, Verdict

__all__ = [
    "OBSTACLES", "SEEDS", "BudgetRuns", "Claim", "ClaimResult", "Claims", "Comparison", "Part", "TaskRows", "Verdict",
    "are_unequal", "at_a_third", "judge", "load", "margins", "of_results",
]  # fmt: skip
