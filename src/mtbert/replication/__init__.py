"""What the five papers claim, and what results prove of it. What is for everybody's tasks imports nothing of it.

replication = replicate(results, third, plan)  # what is judged of any results, the papers' claims and the questions
tables.write(replication, folder)
report.write(replication, folder)
"""

from mtbert.replication.claims import Claim, ClaimPart, Claims, load
from mtbert.replication.judging import ClaimComparison, ClaimResult, Replication, at_a_third, judge_claims, replicate

__all__ = [
    "Claim", "ClaimComparison", "ClaimPart", "ClaimResult", "Claims", "Replication", "at_a_third", "judge_claims",
    "load", "replicate",
]  # fmt: skip
