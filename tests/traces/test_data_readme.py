"""The pages about data say what is there, and their commands are commands."""

import ast
import re
import shlex
import subprocess
from collections.abc import Iterator

import pytest
import typer
from typer.core import TyperGroup

from rsi.commands.app import app
from rsi.intake import Kind
from rsi.traces.detect import read
from rsi.traces.formats import FORMATS
from rsi.traces.pieces import pieces
from rsi.traces.rows import Format, Place, Reason, Rows
from rsi.traces.streams import joined
from rsi.traces.values import Piece
from tests.traces.inputs import ROOT, SAMPLES

PAGE = (ROOT / "data" / "README.md").read_text()
LIST = (SAMPLES / "README.md").read_text()
ROWS = re.findall(r"^\| `([^`]+)` \|(.*)$", LIST, re.MULTILINE)
HERE = Place("default", None, "file", 1, 0, "sample")
TOOLS = re.findall(r"^### (.+)$", PAGE, re.MULTILINE)
_OPERATORS = set("|&;()<>")


def blocks(language: str) -> list[str]:
    """The blocks in a language."""
    return [str(one) for one in re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)]


def simple_commands(script: str) -> Iterator[list[str]]:
    """The words of each command, without what joins it to others and where its output goes."""
    plain = re.sub(r"\s+# .*$", "", script.replace("\\\n", " "), flags=re.MULTILINE)
    lexer = shlex.shlex(plain, posix=True, punctuation_chars="|&;()<>\n")
    lexer.commenters = ""
    lexer.whitespace, lexer.whitespace_split = " \t", True
    words: list[str] = []
    for token in lexer:
        if set(token) <= _OPERATORS | {"\n"}:
            yield words
            words = []
        else:
            words.append(token)
    yield words


def ours(script: str) -> list[list[str]]:
    """The arguments of each `rsi` in a script."""
    return [words[1:] for words in simple_commands(script) if words[:1] == ["rsi"]]


SCRIPTS = blocks("sh")
COMMANDS = [arguments for script in SCRIPTS for arguments in ours(script)]


def test_commands_are_found_in_scripts() -> None:
    """Behind pipes, conditions and continued lines, and without their comments."""
    script = "curl -s \\\n  'a|b' | rsi ingest -  # rsi no\nx > y && rsi sql 'select 1 > 0'\npython -c \"\nrsi\n\"\n"
    assert ours(script) == [["ingest", "-"], ["sql", "select 1 > 0"]]


def test_a_wrong_command_does_not_parse() -> None:
    """Unknown commands, unknown options, missing arguments."""
    wrong = (
        ["ingets"],
        ["ingest", "--orign", "gate"],
        ["ingest", "--origin", "mars"],
        ["quarantine", "show"],
    )
    for arguments in wrong:
        with pytest.raises(Exception, match=r"(?i)no such|is not one of|missing (argument|parameter)"):
            parse(arguments)


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_every_rsi_command_parses(arguments: list[str]) -> None:
    """Commands, options and their values exist."""
    parse(arguments)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda one: str(one).splitlines()[0][:40])
def test_every_script_is_valid_shell(script: str) -> None:
    """As bash reads it without running it."""
    done = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_line_of_python_is_valid() -> None:
    """Whole blocks, and what is given to `python -c`."""
    inside = [
        words[2] for script in SCRIPTS for words in simple_commands(script) if words[:2] == ["python", "-c"]
    ]
    found = [*blocks("python"), *inside]
    assert len(found) >= 2
    for source in found:
        ast.parse(source)


def test_ten_tools_and_more_have_a_way_in() -> None:
    """Each with a block of its own, and with the formats that come of it."""
    assert len(TOOLS) >= 10
    names = {one.NAME for one in FORMATS}
    part = PAGE.split("\n## From the tools")[1].split("\n## ")[0]
    for tool, text in zip(TOOLS, re.split(r"^### .+$", part, flags=re.MULTILINE)[1:], strict=True):
        assert "```" in text, tool
        assert names & set(re.findall(r"`(\w+)`", text)), tool


@pytest.mark.parametrize("format_", FORMATS, ids=lambda one: one.NAME)
def test_every_format_is_in_the_table_and_has_a_sample(format_: Format) -> None:
    """In the page's table by name, and in the list of samples."""
    assert re.search(rf"^\| `{format_.NAME}` \|", PAGE, re.MULTILINE)
    assert re.search(rf"^\| `{format_.NAME}\.\w+` \|", LIST, re.MULTILINE)


def test_the_table_has_the_order_of_the_readers() -> None:
    """And no format that is none."""
    table = PAGE.split("\n## Formats")[1].split("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == [one.NAME for one in FORMATS]


def test_states_reasons_and_kinds_are_named() -> None:
    """All that the store may say, as it says it."""
    kept = PAGE.split("\n## What is kept")[1]
    named = set(re.findall(r"`(\w+)`", kept))
    assert {"full", "absent", "empty", "redacted", "cut"} <= named
    assert {one.value for one in Reason} <= named
    assert {one.value for one in Kind} <= named


def test_the_list_of_samples_is_what_is_there() -> None:
    """Each file has its row, and each row its file."""
    listed = [name for name, _ in ROWS]
    there = [one.name for one in SAMPLES.iterdir() if one.name != "README.md"]
    assert sorted(listed) == sorted(there)


@pytest.mark.parametrize("name", [name for name, _ in ROWS], ids=str)
def test_the_list_of_samples_counts_right(name: str) -> None:
    """Records and traces of a file are as many as its row says, where it says so."""
    text = dict(ROWS)[name]
    found = list(joined(pieces(SAMPLES / name)))
    read_ = [one for piece in found if isinstance(piece, Piece) for one in read(piece, HERE)[1]]
    traces = {one.trace_uid for one in read_ if isinstance(one, Rows) and one.trace is not None}
    for word, count in (("records", len(found)), ("traces", len(traces))):
        said = re.search(rf"(\d+) {word}\b", text)
        assert said is None or int(said[1]) == count, (word, count)


def parse(arguments: list[str]) -> None:
    """Read a command line as `rsi` would, and run nothing."""
    command, rest = typer.main.get_command(app), list(arguments)
    while isinstance(command, TyperGroup):
        name = rest.pop(0)
        assert name in command.commands, f"no such command: {name}"
        command = command.commands[name]
    command.make_context(command.name, rest)
