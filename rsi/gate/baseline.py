"""A classifier without a language model on the same texts, printed for honesty beside the router."""

from collections.abc import Sequence

from rsi.errors import ContractError
from rsi.report.evidence import Baseline

NAME = "TF-IDF + logistic regression"


def baseline(
    texts: Sequence[str], labels: Sequence[str], suite_texts: Sequence[str], suite_labels: Sequence[str]
) -> Baseline | None:
    """Train on a bank's texts and labels, score on a suite's; None where there is nothing to train or score
    on.

    Word 1- and 2-grams and character 3- to 5-grams within words, tf-idf weighted, logistic regression with
    classes weighed by their rarity. Deterministic.

    Raises:
        ContractError: texts and labels differ in number.
    """
    if len(texts) != len(labels) or len(suite_texts) != len(suite_labels):
        raise ContractError(
            f"texts and labels differ in number: {len(texts)} and {len(labels)} to train on, "
            f"{len(suite_texts)} and {len(suite_labels)} to score"
        )
    if len(set(labels)) < 2 or not suite_texts:
        return None
    said = _predict(texts, labels, suite_texts)
    right = [guess == label for guess, label in zip(said, suite_labels, strict=True)]
    by_label = {
        label: sum(r for r, at in zip(right, suite_labels, strict=True) if at == label)
        / sum(at == label for at in suite_labels)
        for label in sorted(set(suite_labels))
    }
    return Baseline(NAME, sum(right) / len(right), len(texts), by_label)


def _predict(texts: Sequence[str], labels: Sequence[str], asked: Sequence[str]) -> list[str]:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline, make_union

    features = make_union(
        TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"\w+"),
        TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True),
    )
    model = make_pipeline(features, LogisticRegression(C=10.0, max_iter=2000, class_weight="balanced"))
    model.fit(list(texts), list(labels))
    return [str(label) for label in model.predict(list(asked))]
