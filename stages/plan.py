"""Stage `plan`: params.yaml to one resolved, checked settings file per variant. Usage: plan.py PARAMS OUT"""

import sys
from pathlib import Path

from mtbert import errors, plan

if __name__ == "__main__":
    with errors.shown_plainly():
        plan.write(plan.plan(plan.Params(Path(sys.argv[1]))), Path(sys.argv[2]))
