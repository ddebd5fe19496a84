"""Judge the papers' claims by the rule of docs/verdicts.md: from runs to enums and numbers, no word of English.

    every = claims.load()                                          # Claims: claims by name, margins, faulty code
    results = claims.judge(every.claims.values(), whole, third)    # one ClaimResult a claim, in their order

`whole` and `third` are the `Evidence` of all of the budget and of a third of it. An evidence has a line for each run of
a variant (or ensemble), with the keys

| key | holds |
| --- | --- |
| `variant`, `seed` | text and whole number; unique together |
| `updates` | steps of the optimiser; of an ensemble the sum over its members; None where not told |
| `examples_sst`, ..., `examples_cfimdb` | examples of each task that were trained on; likewise |
| `train_overall_normalised` | on training rows; None where none were scored |
| `code` | digest of what all trainings share |
| `profile`, `precision`, `threads`, `keep`, `selection` | as resolved; two sides have to agree in these and `code` |
| `encoder`, `sts_head` | `sbert` where the encoder was pretrained so; name of the head for STS; else None |
| `techniques` | the digest of each technique's own file by its name |
"""

from mtbert.claims.comparability import Stability
from mtbert.claims.evidence import Evidence, TaskRows, at_a_third
from mtbert.claims.judging import ClaimResult, PartResult, Reason, judge
from mtbert.claims.reading import Claim, Claims, Part, load
from mtbert.claims.rule import SEEDS, Verdict

__all__ = [
    "SEEDS", "Claim", "ClaimResult", "Claims", "Evidence", "Part", "PartResult", "Reason", "Stability", "TaskRows",
    "Verdict", "at_a_third", "judge", "load",
]  # fmt: skip
