"""Languages by script and commonest words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsi.tasks.language import UNKNOWN, common, language

SENTENCES = {
    "en": "Could you tell me when the next train to the coast leaves from here?",
    "de": "Kannst du mir bitte sagen, wann der nächste Zug an die Küste von hier fährt?",
    "fr": "Peux-tu me dire à quelle heure part le prochain train pour la côte ?",
    "es": "¿Me puedes decir a qué hora sale el próximo tren para la costa desde aquí?",
    "it": "Mi puoi dire a che ora parte il prossimo treno per la costa da qui?",
    "pt": "Podes dizer-me a que horas parte o próximo comboio para a costa? Não quero perder o meu lugar.",
    "nl": "Kun je me zeggen wanneer de volgende trein naar de kust van hier vertrekt en of er nog plaats is?",
    "pl": "Czy możesz mi powiedzieć, o której jest następny pociąg na wybrzeże i czy są jeszcze miejsca?",
    "sv": "Kan du säga mig när nästa tåg till kusten går från den här stationen och om det är fullt?",
    "ru": "Скажи мне, во сколько и откуда идёт поезд на море и не опоздает ли он",
    "ja": "海へ行く次の電車は何時に出ますか",
    "zh": "下一班去海边的火车几点出发",
    "ko": "바다로 가는 다음 기차는 몇 시에 출발하나요",
    "ar": "متى يغادر القطار القادم إلى الساحل",
    "hi": "समुद्र तट के लिए अगली ट्रेन कब जाती है",
    "th": "รถไฟขบวนต่อไปไปทะเลออกกี่โมง",
    "el": "Τι ώρα φεύγει το επόμενο τρένο για την ακτή",
}


@pytest.mark.parametrize("code", sorted(SENTENCES))
def test_a_sentence_is_in_its_language(code):
    """One sentence each, the same in all."""
    assert language(SENTENCES[code]) == code


@pytest.mark.parametrize(
    "text",
    ["", "ok thanks", "1 2 3 4 5 6", "def f(a, b): return a", "🙂" * 9],
)
def test_nobody_can_tell(text):
    """Too short, code, numbers."""
    assert language(text) == UNKNOWN


def test_the_word_lists_are_whole():
    """A language a line, with enough words."""
    assert {"en", "de", "fr", "es", "ru"} <= set(common())
    assert all(len(code) == 2 and len(found) >= 15 for code, found in common().items())


@given(st.text(max_size=200))
def test_any_text_has_an_answer(text):
    """A code or unknown."""
    assert len(language(text)) in (2, 3)
