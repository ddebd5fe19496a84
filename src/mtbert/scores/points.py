"""Points in the plane for dev sentences, by t-SNE of the embeddings that a run has left.

t-SNE (van der Maaten and Hinton, 2008) keeps neighbours, not distances: clusters can be read from a picture. Where they
are in it, and how large, says nothing.
"""

import hashlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
from safetensors.numpy import load_file
from threadpoolctl import threadpool_limits

from mtbert import files
from mtbert.scores.columns import PLACES, Frame
from mtbert.tasks import Task, Tasks

PICTURED = "sst"  # the task whose single sentences have points
PAIRS = 50  # of either kind of a task, as in slapbert's figures
FEWEST = 4  # points that t-SNE needs
WIDTH = 50  # to which PCA brings the embeddings first, as the authors advise: less noise, and less work
PERPLEXITY = 30.0  # how many neighbours count, about; of few points a third of them
SCALE = 500  # coordinates are whole numbers up to this, which pack well
ALIKE, UNLIKE, BETWEEN = 1, -1, 0  # kinds of pairs


def pair_kinds(task: Task, labels: np.ndarray) -> np.ndarray:
    """Return whether each pair of sentences is ALIKE or UNLIKE: by its class, or by the highest and lowest fifth."""
    if task.kind == "score":
        fifth = (task.highest - task.lowest) / 5
        alike, unlike = labels >= task.highest - fifth, labels <= task.lowest + fifth
    else:
        alike, unlike = labels == 1, labels == 0
    return np.select([alike, unlike], [ALIKE, UNLIKE], BETWEEN)


def of_runs(
    embeddings: Sequence[Path], labels: Sequence[Mapping[str, np.ndarray]], tasks: Tasks, cache: Path
) -> list[Frame]:
    """Return the points of each run: `task`, `row` and PLACES.

    They are computed once, since they take five seconds of a core each, and kept in the folder `cache`. Runs without
    them are computed side by side, each on one core: other numbers of threads add up in other orders, of which t-SNE
    makes other pictures.
    """
    cached = [cache / f"{_key(*run, tasks)}.parquet" for run in zip(embeddings, labels, strict=True)]
    missing = [number for number, file in enumerate(cached) if not file.is_file()]
    computed = _side_by_side([embeddings[number] for number in missing], [labels[number] for number in missing], tasks)
    for number, by_task in zip(missing, computed, strict=True):
        parts = [table.rename_axis("row").reset_index().assign(task=task) for task, table in by_task.items()]
        table = pd.concat([pd.DataFrame(columns=["task", "row"]), *parts]).reindex(columns=["task", "row", *PLACES])
        with files.new_file(cached[number]) as partial:
            table.astype({"row": int, **dict.fromkeys(PLACES, float)}).to_parquet(partial, index=False)
    return [files.read_parquet(file) for file in cached]


def _key(embeddings: Path, labels: Mapping[str, np.ndarray], tasks: Tasks) -> str:
    """Return the digest of all that points are made from: embeddings, labels, tasks, and this code."""
    import sklearn

    digest = hashlib.sha256(files.sha256(embeddings).encode())
    for task, values in labels.items():
        digest.update(f"{task} {tasks[task]!r}".encode())
        digest.update(values.tobytes())
    digest.update(Path(__file__).read_bytes())
    digest.update(sklearn.__version__.encode())
    return digest.hexdigest()[:32]


def _side_by_side(
    embeddings: Sequence[Path], labels: Sequence[Mapping[str, np.ndarray]], tasks: Tasks
) -> list[dict[str, Frame]]:
    """Return what `of_run` does of each run."""
    if not embeddings:
        return []
    import sklearn.manifold  # noqa: F401  loaded before the threads of its libraries are limited

    limit = {"initializer": threadpool_limits, "initargs": (1,)}  # OpenMP counts for each thread, BLAS for all
    with threadpool_limits(1), ThreadPoolExecutor(**limit) as pool:
        return list(pool.map(of_run, embeddings, labels, [tasks] * len(embeddings)))


def of_run(file: Path, labels: Mapping[str, np.ndarray], tasks: Tasks) -> dict[str, Frame]:
    """Return points by task, from a run's embeddings of dev rows.

    Of PICTURED all sentences that the file holds have one. Of a task of pairs that are encoded apart PAIRS of either
    kind are drawn, the same for each run. Pairs in one sequence have one embedding, and no points.

    Args:
        file: what training wrote: of each task [sentences, rows, width], and beside it the numbers of these rows.
        labels: of all dev rows, by task; only such tasks are looked at.
        tasks: of the data.

    Returns:
        By task the first of PLACES, whole numbers up to SCALE; by number of the row.
    """
    embeddings = load_file(file)
    points: dict[str, Frame] = {}
    for task in labels:
        if f"{task}/rows" not in embeddings:
            continue
        embedded, rows = embeddings[task].astype(np.float32), embeddings[f"{task}/rows"]
        if _has_pairs_apart(tasks[task], embedded):
            drawn = _drawn(pair_kinds(tasks[task], labels[task][rows]))
            embedded, rows = embedded[:, drawn], rows[drawn]
        elif task != PICTURED:
            continue
        sentences, row_count, _ = embedded.shape
        if sentences * row_count >= FEWEST:
            coordinates = np.hstack(list(_projected(embedded)))
            points[task] = pd.DataFrame(coordinates, rows, PLACES[: 2 * sentences])
    return points


def _has_pairs_apart(task: Task, embedded: np.ndarray) -> bool:
    """Return whether pairs have an embedding for each sentence, and labels that say whether these are alike."""
    says_alike = task.kind in ("binary", "score")  # one of two classes, or a score, does
    return task.is_pair and says_alike and len(embedded) == 2


def _drawn(kinds: np.ndarray) -> np.ndarray:
    """Return the numbers of PAIRS of either kind, or of all if there are fewer, in order."""
    order = np.random.default_rng(0).permutation(len(kinds))
    return np.sort(np.concatenate([order[kinds[order] == kind][:PAIRS] for kind in (ALIKE, UNLIKE)]))


def _projected(embedded: np.ndarray) -> np.ndarray:
    """Return points [sentences, rows, 2] of embeddings [sentences, rows, width]."""
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE

    vectors = embedded.reshape(-1, embedded.shape[2])
    if min(vectors.shape) > WIDTH:
        vectors = PCA(WIDTH, svd_solver="covariance_eigh").fit_transform(vectors)
    method = TSNE(init="pca", random_state=0, perplexity=min(PERPLEXITY, (len(vectors) - 1) / 3))
    points = method.fit_transform(vectors)
    scaled = np.round(SCALE * points / np.abs(points).max())
    return scaled.reshape(*embedded.shape[:2], 2)
