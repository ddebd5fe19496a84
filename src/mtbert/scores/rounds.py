"""Rounds of folds: the seeds that predict each row of dev once, taken together as one model's predictions."""

import numpy as np

from mtbert.scores.columns import FOLD, Frame
from mtbert.tasks import round_of, whole_rounds


def pooled(rows: Frame, folds: int) -> Frame:
    """Return the predictions of one task's dev with a round's first seed in place of each of its seeds.

    Predictions of a round that lacks a seed are left out. Of a model without seeds all stay.

    Args:
        rows: columns of the table `predictions`; a model that predicts several folds with one seed has no seeds.
        folds: their number.
    """
    if not len(rows):
        return rows
    by_run = rows.groupby(["variant", "seed"], observed=True, sort=False)
    has_seeds = by_run[FOLD].transform("nunique") == 1
    seeds_by_variant = {
        str(variant): whole_rounds(sorted({*of_variant["seed"]}), folds)
        for variant, of_variant in rows[has_seeds].groupby("variant", observed=True)
    }
    pairs = zip(rows["variant"], rows["seed"], has_seeds, strict=True)
    is_whole = [not has_seed or seed in seeds_by_variant[str(variant)] for variant, seed, has_seed in pairs]
    first_seeds = [round_of(seed, folds) * folds + 1 for seed in rows["seed"]]
    return rows.assign(seed=np.where(has_seeds, first_seeds, rows["seed"]))[is_whole]
