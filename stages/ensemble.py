"""Stage `ensemble`: the vote of every selected ensemble and seed. Usage: ensemble.py CATALOG RUNS OUT"""

import sys
from pathlib import Path

from mtbert import ensembling, errors

if __name__ == "__main__":
    with errors.shown_plainly():
        catalog, runs, out = map(Path, sys.argv[1:4])
        print("\n".join(ensembling.vote_all(catalog, runs, out)))
