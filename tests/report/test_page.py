import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt

from rsi.records import Judgement
from rsi.report.card import card
from rsi.report.evidence import Evidence
from rsi.report.page import page
from rsi.report.telling import clause_title
from tests.report.example import evidence, hostile

VOID = {"meta", "link", "br", "img", "hr", "input"}


class Reader(HTMLParser):
    """Tags, attributes and text of a page; complains about tags that do not close in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += "" if self.open[-1:] == ["style"] else data


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return reader


def test_the_page_stands_alone() -> None:
    """Well formed; no script, no link, nothing fetched, no handler, and a policy that forbids them."""
    text = page(evidence())
    found = read(text)

    assert not found.tags & {"script", "link", "a", "img", "iframe", "object", "form", "foreignobject"}
    assert not {
        name for name in found.attributes if name.startswith("on") or name in {"src", "href", "xlink:href"}
    }
    assert "http" not in text.replace("http-equiv", "")
    assert not re.search(r"url\(|@import", text)
    assert "default-src 'none'" in text
    assert "prefers-color-scheme: dark" in text


@pytest.mark.parametrize("told", [card, lambda one: read(page(one)).text], ids=["card", "page"])
def test_card_and_page_tell_the_same(told: Callable[[Evidence], str]) -> None:
    """Verdict, every clause with its numbers, labels, guard, baseline, modes, bank and digests."""
    seen, said = evidence(), told(evidence())

    for one in seen.verdict.clauses:
        assert clause_title(one.name) in said and one.text in said
    for text in (
        "26.7%",
        "95.4%",
        "L3 ui",
        "91.7%",
        "easy (guard)",
        "TF-IDF + logistic regression, trained on the same 480 texts",
        "88.7%",
        "Agent requests are sent to chat",
        "151 of 160",
        "too close to gate 4",
        seen.verdict.digest,
        seen.verdict.scorecard,
        "adapter of L0: none → L0-0123456789ab",
        "written for this project",
    ):
        assert text in said, text
    assert "Nobody trained on this" not in said


@pytest.mark.parametrize("told", [page, card])
def test_tickets_tell_what_no_training_takes_away(told: Callable[[Evidence], str]) -> None:
    """Whose failure, why, and in how many traces; without one there is no such section."""
    text = told(evidence())
    for said in ("Tickets", "search refuses: timeout", "harness", "the tool was not reachable", "17"):
        assert said in text
    good = evidence()
    assert good.modes is not None
    assert "Tickets" not in told(replace(good, modes=good.modes.model_copy(update={"tickets": ()})))


def test_outside_text_is_shown_and_inert_on_the_page() -> None:
    """A hostile title, label or clause neither runs, links nor hides; the page stays well formed."""
    said = page(hostile())
    found = read(said)

    assert not found.tags & {"script", "a", "img", "b"}
    assert "\u202e" not in said
    assert "<script>alert(1)</script> [x](https://evil.example)" in found.text


def test_outside_text_is_shown_and_inert_on_the_card() -> None:
    """Rendered by a Markdown parser that lets HTML through, the hostile card has the tags of the good one."""
    markdown = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    good, bad = (read(markdown.render(card(one))) for one in (evidence(), hostile()))

    assert bad.tags == good.tags
    assert not good.tags & {"script", "a", "img", "em", "del", "pre"}
    assert "<script>alert(1)</script> [x](https://evil.example)" in bad.text
    assert "\u202e" not in bad.text


def test_hostile_cells_do_not_add_columns() -> None:
    """Every row of a Markdown table has as many bars as its head."""
    block: list[str] = []
    for line in [*card(hostile()).splitlines(), ""]:
        if line.startswith("|"):
            block.append(line)
        elif block:
            assert len({len(re.findall(r"(?<!\\)\|", row)) for row in block}) == 1, block
            block = []


@pytest.mark.parametrize("judgement", Judgement)
def test_the_judgement_and_what_decided_it_come_first(judgement: Judgement) -> None:
    """A person sees the verdict in the first lines, and the clauses that stood against it."""
    top, head = card(evidence(judgement))[:600], read(page(evidence(judgement))).text[:600]

    for said in (top, head):
        assert judgement.value in said
        assert ("Target: every label" in said.split("Night ")[0].split("Target accuracy")[0]) == (
            judgement is not Judgement.PASS
        )


def test_what_is_not_known_is_left_out() -> None:
    """Without bank, modes, metrics, baseline and labels both are shorter, without empty sections."""
    bare = replace(evidence(), bank=None, modes=None, metrics=(), baseline=None, labels={})
    said, shown = card(bare), read(page(bare)).text
    for text in ("Failure modes", "baseline", "Baseline", "Training", "TF-IDF", "Bank"):
        assert text not in said and text not in shown
    assert "L3" in said and "L3" in shown


def test_the_first_eight_digits_to_type_are_shown() -> None:
    """The approval form asks for them."""
    assert f"evidence digest: {evidence().verdict.digest[:8]}" in read(page(evidence())).text


def test_clause_titles_read_as_words() -> None:
    """Names of clauses become titles, unknown ones too."""
    assert clause_title("guard_easy_noninferior") == "Guard easy: not worse"
    assert clause_title("target_labels") == "Target: every label"
    assert clause_title("completeness") == "Completeness"
    assert clause_title("noise_floor") == "Noise floor"


def test_a_run_is_drawn_by_what_it_measured_and_told_in_counts() -> None:
    """Reward, entropy, mismatch and rehearsal over the steps, or the loss; groups and answers in words."""
    shown = page(evidence())
    for title in ("Reward", "Entropy of the policy", "Distance between actor and learner (k3)"):
        assert f'aria-label="{title}"' in shown
    assert 'aria-label="Loss"' not in shown
    said = read(shown).text
    assert "120 steps in 3 min, 15,360 sampled tokens; 62 groups without signal" in said
    assert "answers: scored 15,240, error 120" in said
    supervised = replace(evidence(), metrics=tuple({"step": n, "loss": 2.0 / n} for n in range(1, 9)))
    shown = page(supervised)
    assert 'aria-label="Loss"' in shown and 'aria-label="Reward"' not in shown
    title = "Distance from what was said before (rehearsal)"
    rehearsed = replace(evidence(), metrics=tuple({"step": n, "rehearsal_kl": n / 9} for n in range(1, 9)))
    assert f'aria-label="{title}"' in page(rehearsed) and title not in shown
