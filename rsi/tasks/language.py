"""Which language a text is in, as far as scripts and the commonest words tell.

No model: the share of letters by script names languages that have a script of their own, and among those written in
Latin or Cyrillic letters the one whose commonest words make up most of the text. Short texts, code and mixtures are
`UNKNOWN`; measured on sentences of eight words and more it is right for the languages listed here and says unknown
for most others.
"""

import re
from collections import Counter

UNKNOWN = "und"
"""ISO 639's code for undetermined."""
LEAST = 5
"""Words below which nothing is said."""
SHARE = 0.2
"""Least share of the words that are common ones."""
_WORD = re.compile(r"[^\W\d_]+")
_COMMON: dict[str, frozenset[str]] = {
    line.split(":")[0].strip(): frozenset(line.split(":")[1].split())
    for line in """
    en: the of and to in is you that it for on with as are this be have from at or by not what all were
        we when your can there an which she do how their if will each about up out them a i my me please;
    de: der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es an
        werden aus er hat dass sie nach wird bei einer um am sind noch wie einem über ich wir bitte mir
        mein;
    fr: de la le et les des en un du une que est pour qui dans a par plus pas au sur ne se ce il sont la
        avec son aux d l je vous nous mon ma mes cette être c s;
    es: de la que el en y a los se del las un por con no una su para es al lo como más o pero sus le ha
        me si sin sobre este ya entre cuando mi muy está qué;
    it: di e il la che in a per un è del non una i le con si da come sono al più dei nel alla ma della
        lo anche gli mi ho questo se o perché mio;
    pt: de a o que e do da em um para é com não uma os no se na por mais as dos como mas foi ao ele das
        tem à seu sua ou ser quando muito eu meu minha;
    nl: de het een van en in is dat op te zijn met voor niet aan er om ook als bij maar dan of naar ik
        je mijn wat door over ze hij deze nog;
    pl: w i na z się do nie to jest że o jak a po co tak za od dla przez czy są ale mi moje ich przy
        może;
    sv: och i att det som en på är av för med till den har de inte om ett men jag var sig så vi från kan
        mitt;
    tr: bir ve bu için de da ile ne çok daha gibi var olarak kadar en mi ben bana sonra ama olan;
    ru: и в не на что я с он а как это по но из у за то все так его для от мы мне вы бы же или;
    uk: і в не на що я з та як це у до за від для але його ми мені він або й;
    """.split(";")
    if line.strip()
}
_SCRIPTS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("ja", re.compile("[\u3040-\u30ff]")),
    ("ko", re.compile("[\uac00-\ud7af\u1100-\u11ff]")),
    ("zh", re.compile("[\u3400-\u9fff]")),
    ("ar", re.compile("[\u0600-\u06ff\u0750-\u077f]")),
    ("he", re.compile("[\u0590-\u05ff]")),
    ("hi", re.compile("[\u0900-\u097f]")),
    ("bn", re.compile("[\u0980-\u09ff]")),
    ("ta", re.compile("[\u0b80-\u0bff]")),
    ("th", re.compile("[\u0e00-\u0e7f]")),
    ("el", re.compile("[\u0370-\u03ff]")),
    ("ka", re.compile("[\u10a0-\u10ff]")),
    ("hy", re.compile("[\u0530-\u058f]")),
)


def language(text: str) -> str:
    """ISO 639 code, or `UNKNOWN`."""
    letters = sum(map(len, _WORD.findall(text)))
    if not text.isascii() and letters:
        for code, script in _SCRIPTS:
            # Japanese is a mixture: a fifth of kana tells it from Chinese.
            if len(script.findall(text)) >= (0.2 if code == "ja" else 0.5) * letters:
                return code
    found = [word.casefold() for word in _WORD.findall(text)]
    if len(found) < LEAST:
        return UNKNOWN
    counts = Counter({code: sum(word in common for word in found) for code, common in _COMMON.items()})
    (best, most), (_, second) = counts.most_common(2)
    return best if most >= SHARE * len(found) and most > second else UNKNOWN
