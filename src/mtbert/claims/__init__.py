"""Judge the papers' claims by the rule of docs/verdicts.md: from runs to enums and numbers, no word of English.

    from mtbert import claims

    every = claims.load()                            # Claims: claims by name, margins, baselines, contradictions
    results = claims.judge(every.claims.values(), evidence, third=None)   # one ClaimResult a claim, in their order
    difference = evidence.compare(ours, other, metric)                    # one row against another, for any table

**In**, as plain arrays (`claims.evidence`):

`Evidence(runs, tasks, untrained_sts, faulty)` holds the runs of one budget.

- `runs`: a frame, one line a variant (or ensemble) and seed, with the columns

  | column | holds |
  | --- | --- |
  | `variant`, `seed` | text and whole number; unique together |
  | `updates` | steps of the optimiser; of an ensemble the sum over its members; missing where not told |
  | `examples_sst`, ..., `examples_cfimdb` | examples of each task that were trained on; likewise |
  | `train_overall_normalised` | on training rows; missing where none were scored |
  | `code` | digest of what all trainings share |
  | `profile`, `precision`, `threads`, `keep`, `selection` | as resolved; two sides have to agree in these and `code` |
  | `encoder`, `sts_head` | `sbert` where the encoder was pretrained so; name of the head for STS; else missing |
  | `techniques` | JSON text, the digest of each technique's own file by its name; `{}` for none |

  Further columns are not read.
- `tasks`: by task, `TaskRows(labels, clusters, predictions, in_overall, leaked)`: `labels` [rows] float; `clusters`
  [rows] whole numbers, equal for rows that share a sentence; `predictions` {(variant, seed): [rows] float}, NaN where
  the run does not score a row; `in_overall` [rows] bool, the rows that overalls are scored on (5,000 of QQP's, all of
  others); `leaked` [rows] bool, rows that share a sentence with a training row.
- `untrained_sts`: r on STS of the untrained encoder's cosine; None where it is not known.
- `faulty`: the values of `code` in which a fault is known.

`third`: the `Evidence` of a third of the budget, for stability; None where there is none.

**Out** (`claims.judging`): `ClaimResult(claim, verdict, reason, p_holds, p_fails, p_small, parts, deciding)`.

- `verdict`: `Verdict.HOLDS`, `.FAILS`, `.SMALL` (real, but smaller than what matters), `.TOO_CLOSE`; None where a
  `reason` keeps the claim from having one.
- `reason`: `Reason.NOT_RUN`, `.FAULTY_CODE`, `.UNLIKE_RUNS`, `.UNEQUAL_BUDGETS`, `.ENCODER` (cannot be tested with this
  encoder), `.FLIPS`, `.FEW_SEEDS` (below six), `.FEW_CLUSTERS` (below six).
- `p_holds`, `p_fails`, `p_small`: one-sided, corrected over the paper's claims.
- `parts`: a `PartResult(part, reason, difference, third, stability, leak_free, unlike, unequal, p)` for each part of
  the claim, confounded ones included. `difference` and `third` are a `stats.Difference` or None: mean, interval, p,
  seeds, rows, clusters, with interval and p None below three seeds or six clusters. `stability` is `Stability.STEADY`,
  `.SHRINKING`, `.GROWING`, `.FLIPS` or None; `leak_free` the mean difference without leaked rows, None where none is;
  `unlike` the names of the columns (or of techniques) in which the sides differ; `unequal` {column: (ours, other)},
  means over seeds.
- `deciding`: which parts decided, from 0.
"""

from mtbert.claims.evidence import Evidence, TaskRows
from mtbert.claims.judging import ClaimResult, PartResult, Reason, judge
from mtbert.claims.reading import Claim, Claims, Contradiction, Part, load
from mtbert.claims.rule import Verdict
from mtbert.claims.stability import Stability

__all__ = [
    "Claim", "ClaimResult", "Claims", "Contradiction", "Evidence", "Part", "PartResult", "Reason", "Stability",
    "TaskRows", "Verdict", "judge", "load",
]  # fmt: skip
