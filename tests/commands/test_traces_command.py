"""`rsi traces`: list, show, label, delete, export."""

import io
import re
import sys
from pathlib import Path

import orjson
import pytest

from rsi.settings import Deployment
from rsi.store.snapshot import refresh
from tests.commands.spoken import Terminal
from tests.traces.inputs import ALL_TRAIN, CLOCK, SAMPLES, chat, correction, load, request, rows, write_lines

HOSTILE = "\x1b[31mred\x1b]0;title\x07 [bold]no markup[/bold] :smile: \x9b2J \u202etxt.exe\r overwritten"
CONTROL = {"\x1b", "\x07", "\x9b", "\u202e", "\r"}


@pytest.fixture
def rsi(terminal: Terminal, tmp_path: Path) -> Terminal:
    """A home with runs that call tools, and requests to the gateway."""
    Deployment(split=ALL_TRAIN.split).write(terminal.home.deployment_file)
    lines = [
        request(1, user="ada", error="broke"),
        request(2, user="bob", session="talk"),
        correction(2, "L0"),
    ]
    load(terminal.home, SAMPLES / "tau.json", write_lines(tmp_path / "a.ndjson", lines))
    refresh(terminal.home, CLOCK)
    return terminal


def uid(rsi: Terminal, condition: str) -> str:
    return str(rows(rsi.home, f"select trace_uid from traces where {condition}")[0][0])


def test_the_list_is_filtered_and_the_newest_come_first(rsi: Terminal) -> None:
    """Traces without a time last."""
    listed = orjson.loads(rsi.ok("traces", "list", "--json"))
    assert [row["format"] for row in listed] == ["gateway", "gateway", "tau", "tau"]
    assert rsi.ok("traces", "list").splitlines()[1].startswith(listed[0]["trace_uid"][:12])
    for arguments, count in (
        (["--outcome", "fail"], 2), (["--conversation", "talk"], 1), (["--version", "v"], 2), (["--limit", "1"], 1),
        (["--agent", "nobody"], 0), (["--origin", "traffic", "--outcome", "pass"], 2),
    ):  # fmt: skip
        assert len(orjson.loads(rsi.ok("traces", "list", *arguments, "--json"))) == count, arguments


def test_a_conversation_reads_from_top_to_bottom(rsi: Terminal) -> None:
    """Outcome with its rule on top, calls under who asked, with arguments and results."""
    shown = rsi.ok("traces", "show", uid(rsi, "format = 'tau' and trial = 0")).splitlines()

    assert any(
        line.split() == ["outcome", "pass", "by", "reward", "score", "(reward", "=", "1)"] for line in shown
    )
    heads = [line for line in shown if line in ("system", "user", "assistant", "tool")]
    assert heads[:3] == ["system", "user", "assistant"]
    assert "tool" not in heads, "results stand under their calls"
    at = shown.index("  -> renew")
    assert shown[at + 1 : at + 4] == ['     {"book":"B1","weeks":3}', "  <- ok", "     done"]


def test_what_is_known_of_a_request_stands_on_top(rsi: Terminal) -> None:
    """Times, tokens, who said what of it; an error where it broke."""
    shown = rsi.ok("traces", "show", f"{2:032x}")
    assert "2023-11-14 22:13:20" in shown
    assert "2 model calls, 3 in, 2 out" in shown
    assert "pass by route score" in shown
    assert "should be L0 (label" in shown
    assert "broke" in rsi.ok("traces", "show", f"{1:032x}")


def test_long_results_are_shortened_unless_all_is_asked_for(terminal: Terminal, tmp_path: Path) -> None:
    """And it says by how much."""
    call = {
        "id": "c",
        "type": "function",
        "function": {"name": "read", "arguments": '{"path":"' + "p" * 80 + '"}'},
    }
    messages = [
        {"role": "user", "content": "u" * 5000},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "r" * 5000},
    ]
    load(terminal.home, write_lines(tmp_path / "a.jsonl", [{"messages": messages}]))
    refresh(terminal.home, CLOCK)
    shown, full = (terminal.ok("traces", "show", uid(terminal, "true"), *how) for how in ((), ("--full",)))

    assert shown.count("r" * 600) == 1
    assert "r" * 601 not in shown
    assert "4,400 more characters" in shown
    assert "u" * 5000 in shown, "what people say is never shortened"
    assert "r" * 5000 in full
    assert f'       "path": "{"p" * 80}"' in shown.splitlines(), "arguments are laid out"


def test_hostile_text_is_shown_and_not_obeyed(terminal: Terminal, tmp_path: Path) -> None:
    """In a conversation, in a tree, in lists, and on a terminal with colours as well."""
    record = {
        **chat(
            HOSTILE, id=HOSTILE, scores=[{"name": HOSTILE, "value": 0, "source": "human", "comment": HOSTILE}]
        ),
        "model": HOSTILE,
    }
    record["messages"].append(  # type: ignore[attr-defined]
        {"role": "assistant", "name": HOSTILE, "content": None,
         "tool_calls": [{"id": "x", "function": {"name": HOSTILE, "arguments": HOSTILE}}]}
    )  # fmt: skip
    load(terminal.home, write_lines(tmp_path / "a.jsonl", [record]))
    refresh(terminal.home, CLOCK)
    trace = uid(terminal, "true")

    for command in (["show", trace], ["show", trace, "--tree"], ["list"], ["show", trace, "--json"]):
        shown = terminal.ok("traces", *command)
        assert not CONTROL & set(shown), command
    shown = terminal.ok("traces", "show", trace)
    assert "\u241b[31mred" in shown
    assert "[bold]no markup[/bold] :smile:" in shown


def test_a_terminal_gets_colours_and_a_pipe_does_not(rsi: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """The words are the same."""
    trace = uid(rsi, "format = 'tau' and trial = 0")
    plain = rsi.ok("traces", "show", trace)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    coloured = rsi.ok("traces", "show", trace)

    assert "\x1b" not in plain
    assert "\x1b[1;32mpass" in coloured
    assert "".join(part.partition("m")[2] for part in f"m{coloured}".split("\x1b[")) == plain


def test_the_tree_marks_what_hangs_wrong(terminal: Terminal, tmp_path: Path) -> None:
    """Orphans, circles, duplicates, errors; each span once."""
    base = {
        "traceId": "a" * 32,
        "startTimeUnixNano": "1700000000000000000",
        "endTimeUnixNano": "1700000001500000000",
    }
    call = [{"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
            {"key": "gen_ai.usage.output_tokens", "value": {"intValue": "1234"}}]  # fmt: skip
    spans = [
        {**base, "spanId": "01" * 8, "name": "root"},
        {**base, "spanId": "02" * 8, "name": "outer call", "parentSpanId": "01" * 8, "attributes": call},
        {**base, "spanId": "03" * 8, "name": "inner call", "parentSpanId": "02" * 8, "attributes": call},
        {
            **base,
            "spanId": "04" * 8,
            "name": "lost",
            "parentSpanId": "99" * 8,
            "status": {"code": 2, "message": "fell over"},
        },
        {**base, "spanId": "05" * 8, "name": "egg", "parentSpanId": "06" * 8},
        {**base, "spanId": "06" * 8, "name": "hen", "parentSpanId": "05" * 8},
    ]
    load(
        terminal.home,
        write_lines(tmp_path / "a.jsonl", [{"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}]),
    )
    refresh(terminal.home, CLOCK)
    shown = terminal.ok("traces", "show", "a" * 32, "--tree")

    def line(name: str) -> str:
        (found,) = (one for one in shown.splitlines() if re.search(rf"── \w+ {name}", one))
        return found

    assert line("root").startswith("├── ")
    assert line("outer call").startswith("│   └── llm")
    assert "1,500 ms  ? in, 1,234 out" in line("outer call")
    assert "counted as outer call (nested)" in line("inner call")
    assert f"orphan: its parent {'99' * 8} never came" in line("lost")
    assert "error fell over" in line("lost")
    assert "cycle" in line("egg")
    nested = orjson.loads(terminal.ok("traces", "show", "a" * 32, "--tree", "--json"))["spans"]
    assert [one["name"] for one in nested] == ["root", "lost", "egg"]
    assert nested[0]["children"][0]["children"][0]["name"] == "inner call"


def test_a_trace_as_json_has_all_of_it(rsi: Terminal) -> None:
    """Arguments as objects, calls under their messages."""
    found = orjson.loads(rsi.ok("traces", "show", uid(rsi, "format = 'tau' and trial = 0"), "--json"))

    calls = [call for message in found["messages"] for call in message["calls"]]
    assert [call["name"] for call in calls] == ["get_reader", "renew", "renew"]
    assert calls[1]["arguments"] == {"book": "B1", "weeks": 3}
    assert (found["outcome"]["outcome"], found["outcome"]["rule"]) == ("pass", "reward score")


def test_an_unknown_trace_is_one_line(rsi: Terminal) -> None:
    """With the way to find one."""
    assert "rsi traces list" in rsi.refused("traces", "show", "nonsense")
    assert "names no trace" in rsi.refused("traces", "label", "nonsense", "--correct", "--by", "ada")


def test_a_label_changes_the_outcome_at_once(rsi: Terminal) -> None:
    """Of the snapshot that everybody reads."""
    trace = uid(rsi, "user_ref is not null and error is not null")

    rsi.ok("traces", "label", trace[:12], "--correct", "--reason", "was fine", "--by", "ada")

    shown = rsi.ok("traces", "show", trace)
    assert "pass by feedback score (feedback = 1)" in shown
    assert "was fine" in shown
    assert "exclude each other" in rsi.refused(
        "traces", "label", trace, "--correct", "--wrong", "--by", "ada"
    )


def test_deleting_asks_first_and_says_what_went(rsi: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """No to the question changes nothing; --dry-run does not ask."""
    would = orjson.loads(rsi.ok("traces", "delete", "--user", "ada", "--dry-run", "--json"))
    assert (would["dry_run"], would["traces"]) == (True, 1)
    monkeypatch.setattr(sys, "stdin", io.StringIO("n\n"))
    done = rsi("traces", "delete", "--user", "ada", "--by", "x")
    assert done.code == 1
    assert "would go: 1 trace," in done.out
    assert len(orjson.loads(rsi.ok("traces", "list", "--json"))) == 4

    said = rsi.ok("traces", "delete", "--user", "ada", "--by", "x", "--yes")

    assert said.splitlines()[0] == "deleted: 1 trace, 0 of them held out"
    assert len(orjson.loads(rsi.ok("traces", "list", "--json"))) == 3
    assert orjson.loads(rsi.ok("sql", "select body from ledger where kind = 'deletion'", "--json"))
    assert "choose one" in rsi.refused("traces", "delete", "--by", "x", "--yes")


def test_exported_traces_are_read_again(rsi: Terminal, tmp_path: Path) -> None:
    """Those that were chosen."""
    out = tmp_path / "out.jsonl"
    done = orjson.loads(
        rsi.ok("traces", "export", "--format", "messages", "--out", str(out), "--outcome", "pass", "--json")
    )

    assert done["traces"] == 2
    assert len(out.read_bytes().splitlines()) == done["records"] >= 1
    assert "expected one of" in rsi.refused("traces", "export", "--format", "none", "--out", str(out))
