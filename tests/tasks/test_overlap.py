"""Overlap with held-out items, on digests alone."""

import base64

from hypothesis import given, settings
from hypothesis import strategies as st

from rsi.records import ChatMessage
from rsi.tasks.bank import task
from rsi.tasks.fingerprint import fingerprint
from rsi.tasks.overlap import CHUNK, HeldOut, How, Index, texts_of
from tests.tasks import planted

ITEMS = {
    "suite/v1:long": "please book a table for four people at the thai place near the station tonight at eight",
    "suite/v1:short": "dim the lights in the hall to ten percent",
    "suite/v1:tiny": "hello there",
    "suite/v1:five": "what is the largest ocean",
}
INDEX = Index([HeldOut(name, fingerprint(text)) for name, text in ITEMS.items()], 0.33)
CLEAN = "write a function that sorts a list of names by length and drops doubles"


def met(*texts):
    """(how, item) of one proposal."""
    (found,) = INDEX.overlaps([texts])
    return found and (found.how, found.item)


def test_the_same_text_is_exact_in_any_clothes():
    """Case, spaces and encodings."""
    for name, text in ITEMS.items():
        assert met(text.upper()) == (How.EXACT, name)
        assert met(text.replace(" ", "  ") + "!") == (How.EXACT, name)
    hidden = base64.b64encode(ITEMS["suite/v1:long"].encode()).decode()
    assert met(f"decode {hidden}") == (How.EXACT, "suite/v1:long")


def test_a_run_inside_another_text_is_found():
    """13 words of a long item, 8 of a short one, all of one of five words."""
    assert met(f"{CLEAN}. {ITEMS['suite/v1:long']} {CLEAN}") == (How.RUN, "suite/v1:long")
    assert met(f"{CLEAN} dim the lights in the hall to ten {CLEAN}") == (How.RUN, "suite/v1:short")
    assert met(f"{CLEAN}: what is the largest ocean? {CLEAN}") == (How.RUN, "suite/v1:five")
    assert met(f"{CLEAN} hello there {CLEAN}") is None


def test_a_run_does_not_cross_from_one_text_to_the_next():
    """Texts stand beside each other while they are looked up."""
    first, last = "what is the", "largest ocean"

    assert INDEX.overlaps([[f"{CLEAN} {first}"], [f"{last} {CLEAN}"]]) == [None, None]


def test_one_word_changed_is_near():
    """With its similarity."""
    (found,) = INDEX.overlaps([["dim the lamps in the hall to nine percent"]])

    assert found is not None
    assert (found.how, found.item) == (How.NEAR, "suite/v1:short")
    assert 0.33 <= found.share < 1


def test_evidence_is_what_the_proposal_says():
    """The words it shares, never more of the item."""
    (run,) = INDEX.overlaps([[f"{CLEAN}. Dim the LIGHTS in the hall to ten, {CLEAN}"]])
    (near,) = INDEX.overlaps([["dim the lamps in the hall to nine percent"]])
    hidden = base64.b64encode(b"Dim the lights in the hall to ten percent").decode()
    (coded,) = INDEX.overlaps([[f"do {hidden}"]])

    assert run is not None and near is not None and coded is not None
    assert run.span == "dim the lights in the hall to ten"
    assert near.span == "dim the lamps in the hall to nine percent"
    assert coded.span == "in base64: Dim the lights in the hall to ten percent"


def test_every_message_of_a_task_is_looked_at():
    """A held-out item in the system prompt or in an earlier turn is one too."""
    messages = (
        ChatMessage(role="system", content=ITEMS["suite/v1:long"]),
        ChatMessage(role="user", content="and now?"),
    )
    one = task("answer", messages, "exact", '["a"]', None, ("t",), "correction")

    assert met(*texts_of(one)) == (How.EXACT, "suite/v1:long")


def test_without_held_out_items_nothing_overlaps():
    """An empty contracts folder."""
    assert Index([], 0.33).overlaps([["a"], [CLEAN, ""]]) == [None, None]
    assert INDEX.overlaps([]) == []
    assert met("") is None
    assert met("?!") is None


def test_many_proposals_are_as_each_alone():
    """Over the border of a chunk."""
    texts = [*planted.filled(CHUNK + 10, 1), *ITEMS.values()]
    found = INDEX.overlaps([[text] for text in texts])

    assert found[CHUNK + 10 :] == [INDEX.overlaps([[text]])[0] for text in ITEMS.values()]
    assert len(found) == len(texts)


@settings(max_examples=50)
@given(st.lists(st.text(max_size=60), min_size=1, max_size=5))
def test_any_held_out_text_is_found_again(texts):
    """Whatever it is, it is exact against itself, and nothing raises."""
    index = Index([HeldOut(str(at), fingerprint(text)) for at, text in enumerate(texts)], 0.33)

    found = index.overlaps([[text] for text in texts])
    assert all(one is not None and one.how is How.EXACT for one in found)
