"""The brief above the form: losses first, guards with margins, what is left; inert, and short."""

from dataclasses import replace

from markdown_it import MarkdownIt

from rsi.report.brief import brief
from rsi.report.card import card
from rsi.report.evidence import Count, DevScore
from rsi.report.page import page
from tests.report.example import certificate, evidence, hostile


def test_the_brief_tells_what_an_answer_needs_in_the_order_of_doubt() -> None:
    """Gain with interval; losses; guards; examples; change, bank, modes, budget; which verdict it is."""
    text = brief(evidence(), certificate())
    order = [
        "+68.8 points (95%: +62.1 to +74.5) on 240 held-out items",
        "Worse than before",
        "L0 chat | 60 | 96.7% → 95.0% | −1.7",
        "easy (guard) | 170",
        "**Guard easy:** ✅ pass, −0.6 points, at least −4.7, margin −8.0",
        "“why is my build red”: right L2 code, champion L2 code, candidate L0 chat",
        "adapter of L0: none → L0-0123456789ab",
        "480 tasks: Agent requests are sent to chat 90",
        "Modes expected fixed",
        "alpha 0.0475 after 0.00083 for this one, 57 questions, 2 more may pass",
        f"verdict `{evidence().verdict.digest[:12]}`",
    ]
    places = [text.index(one) for one in order]
    assert places == sorted(places)
    assert len(text.splitlines()) < 40


def test_the_worst_loss_comes_first_and_none_is_said() -> None:
    """By points; a candidate that loses nowhere says over how many groups."""
    target = evidence().target
    worse = replace(target, by_label=(Count("L0", 60, 58, 50), Count("L2", 60, 40, 10), Count("L3", 60, 9, 8)))
    text = brief(replace(evidence(), tables=(worse, *evidence().tables[1:])), certificate())
    assert text.index("L2 code | 60") < text.index("L0 chat | 60") < text.index("L3 ui | 60")
    better = replace(target, by_label=(), by_hardness=(Count("hard", 50, 1, 2),))
    assert "**Worse than before:** none of 1 group\n" in brief(replace(evidence(), tables=(better,)), certificate())


def test_the_best_on_the_dev_side_is_told_in_steps() -> None:
    """In brief, card and report alike; of a candidate that is no new best nothing else."""
    best = replace(evidence(), dev=DevScore(100, 0.05, 0.65, risen=False))
    for said in (brief(best, certificate()), card(best), page(best)):
        assert "65.0% of 100 requests right: a candidate before; this one is not better by a step" in said
    assert "this candidate, a new best" in card(replace(evidence(), dev=DevScore(100, 0.05, 0.7, risen=True)))


def test_what_is_not_known_is_left_out_of_the_brief() -> None:
    """No bank, no modes, no examples, no budget."""
    bare = replace(evidence(), bank=None, modes=None, examples=())
    text = brief(bare, certificate(left=None, questions_left=None, accepts_left=None))
    for absent in ("Bank", "Modes", "Example", "What an answer takes"):
        assert absent not in text
    assert "the contract sets no budget over nights" in text


def test_outside_text_is_inert_in_the_brief() -> None:
    """The hostile one has the tags of the good one, and no row more or fewer."""
    markdown = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    good, bad = (markdown.render(brief(one, certificate())) for one in (replace(evidence(), spent="1"), hostile()))
    for tag in ("<script", "<img", "<a ", "<em", "<del"):
        assert tag not in bad
    for tag in ("<table", "<tbody", "<code", "<h3", "<strong", "<li"):
        assert bad.count(tag) == good.count(tag)
    assert "&lt;script&gt;alert(1)&lt;/script&gt; [x](https://evil.example)" in bad
