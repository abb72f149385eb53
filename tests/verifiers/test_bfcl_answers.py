"""The tool-call verifier on BFCL's possible answers, and against BFCL's own checker where it can be loaded."""

import importlib.util
import sys
from collections import Counter
from collections.abc import Callable
from enum import Enum
from types import ModuleType, SimpleNamespace

import orjson
import pytest
from mutated_calls import mutants

from rsi import assets
from rsi.assets import BFCL_CALLS, BFCL_NO_CALLS
from rsi.tasks.bfcl import exchanges
from rsi.verifiers import tool_call
from rsi.verifiers.calls import Call, write

ASSET = next(one for one in assets.ASSETS if one.name == "bfcl-answers")
BROKEN = {
    "live_simple_106-63-0": "has no list of accepted values",
    "live_simple_112-68-0": "has no list of accepted values",
    "live_multiple_862-181-3": "'journey_start_time' is not expected",
    "live_multiple_964-207-0": "required argument 'statement' is missing",
}
"""Possible answers that BFCL's own checker refuses too: an argument without an accepted value, one that the schema does
not have, and a required one that is not named."""
pytestmark = pytest.mark.skipif(
    not ASSET.folder.is_dir(), reason="the asset bfcl-answers is not pulled: rsi assets pull"
)
Theirs = Callable[[str, str, tuple[Call, ...]], bool]


@pytest.fixture
def theirs(monkeypatch: pytest.MonkeyPatch) -> Theirs:
    """BFCL's checker of Python calls, its imports (model list, Java and JavaScript readers) standing empty."""
    language = Enum("Language", ["PYTHON", "JAVA", "JAVASCRIPT"])
    heavy = {
        "bfcl_eval.constants.enums": {"Language": language},
        "bfcl_eval.constants.model_config": {
            "MODEL_CONFIG_MAPPING": {"m": SimpleNamespace(underscore_to_dot=False)}
        },
        "bfcl_eval.constants.type_mappings": {"JAVA_TYPE_CONVERSION": {}, "JS_TYPE_CONVERSION": {}},
        "bfcl_eval.eval_checker.ast_eval.type_convertor.java_type_converter": {"java_type_converter": None},
        "bfcl_eval.eval_checker.ast_eval.type_convertor.js_type_converter": {"js_type_converter": None},
    }
    for name, content in heavy.items():
        for end in range(1, name.count(".") + 1):
            monkeypatch.setitem(sys.modules, ".".join(name.split(".")[:end]), ModuleType(name))
        module = ModuleType(name)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)
    path = ASSET.folder / "bfcl_eval/eval_checker/ast_eval/ast_checker.py"
    spec = importlib.util.spec_from_file_location("bfcl_ast_checker", path)
    assert spec and spec.loader
    checker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(checker)

    def valid(name: str, expected: str, calls: tuple[Call, ...]) -> bool:
        wanted = orjson.loads(expected)
        output = [{call.name: call.arguments} for call in calls]
        try:
            found = checker.ast_checker(
                wanted["tools"], output, wanted["calls"], language["PYTHON"], name, "m"
            )
        except (KeyError, TypeError, AttributeError):
            return False
        return bool(found["valid"])

    return valid


@pytest.mark.parametrize("name", BFCL_CALLS)
def test_possible_answers_are_right_and_changed_ones_wrong(
    name: str, theirs: Theirs, capsys: pytest.CaptureFixture[str]
) -> None:
    """100% on the first accepted values, under 1% on calls changed in one place, and the verdict is BFCL's."""
    right, broken, kinds, fooled, apart = 0, dict[str, str](), Counter[str](), list[str](), list[str]()
    found = exchanges(name)
    for one in found:
        try:
            wanted = tool_call.parse(one.expected)
        except tool_call.Broken as error:
            broken[one.item] = str(error)
            continue
        gold = tuple(tool_call.first(call) for call in wanted)
        right += tool_call.check(write(gold), one.expected).score == 1.0
        apart += [] if theirs(name, one.expected, gold) else [one.item]
        for mutant in mutants(wanted):
            kinds[mutant.kind] += 1
            ours = tool_call.check(write(mutant.calls), one.expected).score == 1.0
            fooled += [f"{one.item} {mutant.kind}"] if ours else []
            apart += [] if ours == theirs(name, one.expected, mutant.calls) else [f"{one.item} {mutant.kind}"]
    with capsys.disabled():
        print(
            f"\n{name}: {right} of {len(found) - len(broken)} right, {len(fooled)} of {kinds.total()} changed pass, "
            f"{len(apart)} judged otherwise by BFCL, broken: {sorted(broken) or 'none'}"
        )
    assert right == len(found) - len(broken)
    assert len(fooled) < 0.01 * kinds.total() and len(kinds) >= 6
    assert apart == []
    assert broken.keys() == {one for one in BROKEN if one.rsplit("_", 1)[0] == name}
    assert all(BROKEN[item] in why for item, why in broken.items())


@pytest.mark.parametrize("name", BFCL_CALLS)
def test_every_accepted_value_is_accepted(
    name: str, theirs: Theirs, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not the first only: each value in its turn, and each argument that may be left out, as BFCL has it."""
    tried, refused, apart = 0, list[str](), list[str]()
    for one in exchanges(name):
        if one.item in BROKEN:
            continue
        wanted = tool_call.parse(one.expected)
        right = tuple(tool_call.first(call) for call in wanted)
        for at, call in enumerate(wanted):
            for argument, accepted in call.accepted.items():
                if argument not in call.properties:
                    continue
                for value in accepted:
                    kept = {key: it for key, it in right[at].arguments.items() if key != argument}
                    if value != tool_call.OPTIONAL:
                        kept[argument] = tool_call.plain(value)
                    elif argument in call.required:
                        continue
                    calls = (*right[:at], Call(call.name, kept), *right[at + 1 :])
                    ours = tool_call.check(write(calls), one.expected).score == 1.0
                    tried += 1
                    refused += [] if ours else [f"{one.item} {argument} {value!r}"]
                    apart += (
                        []
                        if ours == theirs(name, one.expected, calls)
                        else [f"{one.item} {argument} {value!r}"]
                    )
    with capsys.disabled():
        print(
            f"\n{name}: {tried - len(refused)} of {tried} accepted values pass, refused: {refused}, apart: {apart}"
        )
    assert len(refused) <= 0.01 * tried
    assert apart == []


@pytest.mark.parametrize("name", BFCL_NO_CALLS)
def test_no_call_is_right_where_no_tool_fits(name: str) -> None:
    """Words are right, any call is wrong, and a spoiled call is no refusal."""
    found = exchanges(name)

    for one in found:
        tool = orjson.loads(one.expected)["tools"]
        call = write((Call(tool[0]["name"] if tool else "f", {}),))
        assert tool_call.check(tool_call.NO_CALL, one.expected).score == 1.0
        assert tool_call.check(call, one.expected).score == 0.0
        assert tool_call.check(call[:-2], one.expected).score is None
    assert len(found) > 200
