import pytest

from rsi.tasks.manner import looped, refuses, repeats


def test_loops_are_told_from_long_answers() -> None:
    """More than half of its runs of four came before; short answers and lists of one kind are none."""
    assert looped([7, 8, 9] * 10)
    assert looped("very well then " * 10)
    assert looped(("very well then " * 10).split())
    assert not looped([7, 8, 9] * 3)
    assert not looped(range(200))
    assert not looped([*range(40), *range(20)])


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("I'm sorry, but I can't help with that.", True),
        ("I am unable to do this.", True),
        ("Sorry, I could not find it.", True),
        ("Paris.", False),
        ("Certainly. What I cannot do you will see below.", False),
        ("", False),
    ],
)
def test_a_refusal_is_told_by_its_first_words(text: str, refused: bool) -> None:
    """In the first person; who comes to it later has said something else before."""
    assert refuses(text) is refused


@pytest.mark.parametrize(
    ("text", "loop"),
    [
        ("so it is and " * 6, True),
        ("no, " * 12, True),
        ("ha" * 20, True),
        ("哈哈" * 12, True),
        ("今天天气很好我们一起去公园散步然后回家吃饭看书", False),
        ("The capital of France is Paris.", False),
        ("It was the best of times, it was the worst of times, it was the age of wisdom", False),
    ],
)
def test_a_text_that_repeats_itself(text: str, loop: bool) -> None:
    """With blanks or without."""
    assert repeats(text) is loop
