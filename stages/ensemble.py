"""Stage `ensemble`: the vote of every selected ensemble and seed. Usage: ensemble.py CATALOG RUNS OUT"""

from mtbert import ensembling, errors

if __name__ == "__main__":
    with errors.shown_plainly():
        catalog, runs, out = errors.arguments("CATALOG", "RUNS", "OUT")
        print("\n".join(ensembling.vote_all(catalog, runs, out)))
