"""A task that no paper reports, trained, voted on, tabled and claimed: newcomer.py FOLDER.

A process of its own: the row is in the table of tasks before anything reads that. Prints what is said of its claim.
"""

import sys
from pathlib import Path

from mtbert.tasks import TASKS, Task

TASKS["likeness"] = Task(
    "likeness", "Likeness", "score", 1, "pearson", "course", {}, ("sentence1", "sentence2"), "label", {}, highest=5.0
)

import runs  # noqa: E402

from mtbert import ensembling, files  # noqa: E402
from mtbert.reporting import catalog, report, verdicts  # noqa: E402
from mtbert.reporting.claims import Claim, Part  # noqa: E402
from mtbert.reporting.evidence import Evidence  # noqa: E402
from mtbert.training import run  # noqa: E402

if __name__ == "__main__":
    folder, runs.TASKS_HERE = Path(sys.argv[1]), ("sst", "likeness")
    build = folder / "build"
    about = {"paper": "pals-for-pals", "tasks": list(runs.TASKS_HERE), "selected": True}
    files.write_yaml(
        build / "plan/catalog.yaml",
        {
            **{"profile": "test", "seeds": [1], "keep": "best", "selection": "cross"},
            "encoder": {"name": "tiny", "note": "untrained"},
            "variants": {name: about | {"row": name} for name in ("small", "other")},
            "ensembles": {"vote": about | {"row": "vote", "members": ["small", "other"]}},
        },
    )
    for name in ("small", "other"):
        made = runs.parts(runs.settings().model_copy(update={"variant": name}), 1)
        run.train(made, build / "runs" / name / "1", build / "logs" / name / "1", runs.checkpoints(folder / name))
    ensembling.vote_all(build / "plan/catalog.yaml", build / "runs", build / "ensembles")
    report.write(build, folder / "report", build / "submissions")
    part = Part(ours=("small",), other=("other",), metric="likeness", expects="higher", matters=0.01)
    claim = Claim(name="new", paper="pals-for-pals", section="1", statement="It helps.", parts=(part,))
    evidence = Evidence(build, catalog.read_completed(build))
    (verdict,) = verdicts.judge(evidence, [claim])
    print(verdict)
