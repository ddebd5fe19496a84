"""Places of dev sentences in a picture, by t-SNE of the embeddings that a run has left.

t-SNE (van der Maaten and Hinton, 2008) keeps neighbours, not distances: clusters can be read from a picture, their
places and sizes cannot.
"""

import numpy as np
import pandas as pd

from mtbert.results.tables import Frame

POINTS = 250  # of one picture: more hide one another
FEWEST = 4  # t-SNE needs some neighbours


def beside(embedded: np.ndarray, labels: np.ndarray) -> Frame:
    """Return the places of POINTS sentences, of each label equally many as far as there are.

    `embedded` is [sentences, rows, width]: two sentences where a pair is encoded apart, else one. The labels are those
    of all rows; labels of scores count by their whole part. The result has the chosen rows alone,
    with x, y and, of a pair's second sentence, x2, y2: whole numbers from -500 to 500.
    """
    from sklearn.manifold import TSNE  # takes a second to import

    kinds = np.floor(np.nan_to_num(labels[: embedded.shape[1]], nan=-1.0))
    turn = pd.Series(kinds).groupby(kinds).cumcount().to_numpy()  # how many of the label come before
    chosen = np.sort(np.argsort(turn, kind="stable")[: POINTS // len(embedded)])
    columns = ["x", "y", "x2", "y2"][: 2 * len(embedded)]
    if len(chosen) < FEWEST:
        return pd.DataFrame(columns=columns)
    points = embedded[:, chosen].reshape(-1, embedded.shape[2])
    # By PCA first, as the authors advise: distances in few dimensions are less noisy, and quick.
    method = TSNE(init="pca", random_state=0, perplexity=min(30.0, (len(points) - 1) / 3))
    drawn = np.asarray(method.fit_transform(points))
    drawn = np.round(500 * drawn / max(float(np.abs(drawn).max()), 1e-9)).reshape(len(embedded), len(chosen), 2)
    return pd.DataFrame(np.hstack(list(drawn)), chosen, columns)
