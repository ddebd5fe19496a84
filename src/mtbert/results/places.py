"""Places of dev sentences in a picture, by t-SNE of the embeddings that a run has left.

t-SNE (van der Maaten and Hinton, 2008) keeps neighbours, not distances: clusters can be read from a picture, their
places and sizes cannot.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
from safetensors.numpy import load_file
from threadpoolctl import threadpool_limits

from mtbert.results.tables import PICTURED, Frame
from mtbert.tasks import Task, Tasks

PAIRS = 50  # of either kind of a task, as in slapbert's figures
FEWEST = 4  # points that t-SNE needs
WIDTH = 50  # to which PCA brings the embeddings first, as the authors advise: less noise, and less work
PERPLEXITY = 30.0  # how many neighbours count, about; of few points a third of them
SCALE = 500  # places are whole numbers up to this, which pack well
ALIKE, UNLIKE, BETWEEN = 1, -1, 0


def kinds(task: Task, labels: np.ndarray) -> np.ndarray:
    """Return whether each pair of sentences is ALIKE or UNLIKE: by its class, or by the highest and lowest fifth."""
    fifth = (task.highest - task.lowest) / 5
    alike = labels >= task.highest - fifth if task.kind == "score" else labels == 1
    unlike = labels <= task.lowest + fifth if task.kind == "score" else labels == 0
    return np.select([alike, unlike], [ALIKE, UNLIKE], BETWEEN)


def of_runs(files: Sequence[Path], labels: Sequence[Mapping[str, np.ndarray]], tasks: Tasks) -> list[dict[str, Frame]]:
    """Return what `of_run` does of each, side by side, each on one core.

    Other numbers of threads add up in other orders, of which t-SNE makes other pictures.
    """
    import sklearn.manifold  # noqa: F401  loaded before the threads of its libraries are limited

    limit = {"initializer": threadpool_limits, "initargs": (1,)}  # OpenMP counts for each thread, BLAS for all
    with threadpool_limits(1), ThreadPoolExecutor(**limit) as pool:
        return list(pool.map(of_run, files, labels, [tasks] * len(files)))


def of_run(file: Path, labels: Mapping[str, np.ndarray], tasks: Tasks) -> dict[str, Frame]:
    """Return places by task, from a run's embeddings of dev rows.

    Sentences of SST-5 are all that the file holds. Of a task of pairs that are encoded apart PAIRS of either kind are
    drawn, the same for each run; pairs in one sequence have one embedding, and no picture.

    Args:
        file: what training wrote: of each task [sentences, rows, width], and beside it the numbers of these rows.
        labels: of all dev rows, by task; only such tasks are looked at.
        tasks: of the data.

    Returns:
        By task, x and y of the first sentence and of a pair x2 and y2, whole numbers up to SCALE; by number of the row.
    """
    kept = load_file(file)
    found = {}
    for task in (name for name in labels if f"{name}/rows" in kept):
        embedded, rows = kept[task].astype(np.float32), kept[f"{task}/rows"]
        is_told = tasks[task].kind != "classes"  # which of two classes or scores says that sentences are alike
        apart = tasks[task].is_pair and is_told and len(embedded) == 2
        if apart:
            drawn = _drawn(kinds(tasks[task], labels[task][rows]))
            embedded, rows = embedded[:, drawn], rows[drawn]
        if (apart or task == PICTURED) and embedded.shape[0] * embedded.shape[1] >= FEWEST:
            columns = ["x", "y", "x2", "y2"][: 2 * len(embedded)]
            found[task] = pd.DataFrame(np.hstack(list(_places(embedded))), rows, columns)
    return found


def _drawn(kinds: np.ndarray) -> np.ndarray:
    """Return the numbers of PAIRS of either kind, or of all where there are fewer, in order."""
    order = np.random.default_rng(0).permutation(len(kinds))
    return np.sort(np.concatenate([order[kinds[order] == kind][:PAIRS] for kind in (ALIKE, UNLIKE)]))


def _places(embedded: np.ndarray) -> np.ndarray:
    """Return places [sentences, rows, 2] of embeddings [sentences, rows, width]."""
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE

    points = embedded.reshape(-1, embedded.shape[2])
    if min(points.shape) > WIDTH:
        points = PCA(WIDTH, svd_solver="covariance_eigh").fit_transform(points)
    method = TSNE(init="pca", random_state=0, perplexity=min(PERPLEXITY, (len(points) - 1) / 3))
    drawn = method.fit_transform(points)
    return np.round(SCALE * drawn / np.abs(drawn).max()).reshape(*embedded.shape[:2], 2)
