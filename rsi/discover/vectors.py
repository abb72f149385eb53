"""Texts as vectors without a model, and the words that set groups of texts apart."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_matrix

_SEED = 17
_WORDS = r"(?u)\b[^\W\d_][\w'-]+\b"
_VOCABULARY = 20_000


class TfidfSvd:
    """An `Embedder`: TF-IDF of words (sublinear, without those of over half the texts), reduced by truncated SVD.

    Latent semantic analysis: Deerwester et al. 1990, JASIS 41:391-407.
    """

    def __init__(self, dimensions: int = 32) -> None:
        self._dimensions = dimensions

    def embed(self, texts: Sequence[str]) -> "NDArray[np.float64]":
        """Rows of length one (zero where no word counts), at most `dimensions` long."""
        weights = _weights(texts)
        if weights is None:
            return np.zeros((len(texts), 1))
        width = min(self._dimensions, min(weights[0].shape) - 1)
        if width < 2:
            return np.asarray(normalize(weights[0].toarray()))
        reduced = TruncatedSVD(width, random_state=_SEED).fit_transform(weights[0])
        # Sums of floats may differ in their last bits between machines; groups must not.
        return np.asarray(normalize(np.round(reduced, 6)))


def terms(texts: Sequence[str], groups: Sequence[Sequence[int]], most: int) -> list[tuple[str, ...]]:
    """For each group of indices the words with the highest mean TF-IDF above that of all texts, strongest first."""
    weights = _weights(texts)
    if weights is None:
        return [() for _ in groups]
    matrix, names = weights
    overall = np.asarray(matrix.mean(axis=0)).ravel()
    found = []
    for group in groups:
        above = np.round(np.asarray(matrix[list(group)].mean(axis=0)).ravel() - overall, 6)
        order = np.lexsort((np.arange(len(names)), -above))[:most]
        found.append(tuple(names[at] for at in order if above[at] > 0))
    return found


def _weights(texts: Sequence[str]) -> "tuple[csr_matrix, list[str]] | None":
    """TF-IDF and the word of each column; null where no word is left."""
    vectorizer = TfidfVectorizer(
        stop_words="english",
        token_pattern=_WORDS,
        max_df=0.5 if len(texts) > 10 else 1.0,
        max_features=_VOCABULARY,
        sublinear_tf=True,
    )
    try:
        matrix = vectorizer.fit_transform(texts)
    except ValueError:
        # scikit-learn's way to say that no word is left.
        return None
    return matrix, [str(name) for name in vectorizer.get_feature_names_out()]
