"""YAML: what text means, whichever parser splits it, and that nothing in a file can hurt."""

import math
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import simfl.scenario.language.yaml_builder as language
from simfl.errors import ScenarioError
from simfl.scenario.language.yaml import read_yaml
from simfl.scenario.language.yaml_writer import to_yaml

PARSERS = {"pure": yaml.BaseLoader, "c": getattr(yaml, "CBaseLoader", None)}
SCENARIOS = sorted((Path(__file__).parents[3] / "scenarios").rglob("*.yaml"))


@pytest.fixture(params=PARSERS, autouse=True)
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test holds with both parsers."""
    if PARSERS[request.param] is None:
        pytest.skip("PyYAML was built without its C parser")
    monkeypatch.setattr(language, "PARSER", PARSERS[request.param])


def read(text: str) -> Any:
    return read_yaml(text, "s.yaml")[0]


def refused(text: str) -> str:
    with pytest.raises(ScenarioError) as told:
        read(text)
    return str(told.value)


MEANINGS = {
    "on": "on", "off": "off", "yes": "yes", "no": "no", "y": "y", "True": True, "FALSE": False,
    "tRUE": "tRUE", "null": None, "~": None, "": None, "NULL": None, "none": "none",
    "0o17": 15, "017": 17, "0x1F": 31, "-7": -7, "+3": 3, "1_000": "1_000", "0b11": "0b11",
    "1e-3": 0.001, "1.": 1.0, ".5": 0.5, "-.inf": -math.inf, ".INF": math.inf, "1:30": "1:30",
    "2024-01-31": "2024-01-31", "30%": "30%", "'5'": "5", '"on"': "on", "!!str 5": "5",
    "!!float 3": 3.0, "!!int '4'": 4, "! 12": "12", "10 Mbit/s": "10 Mbit/s", "=": "=",
    "[a, b]": ["a", "b"], "{on: 2 h, off: 6 h}": {"on": "2 h", "off": "6 h"},
}  # fmt: skip


@pytest.mark.parametrize("text", MEANINGS)
def test_the_core_schema_of_yaml_1_2(text: str) -> None:
    value = read(f"key: {text}\n")["key"]
    assert value == MEANINGS[text]
    assert type(value) is type(MEANINGS[text])


def test_keys_are_text_whatever_they_look_like() -> None:
    assert read("on: 1\n5: 2\n0.5: 3\nnull: 4\n") == {"on": 1, "5": 2, "0.5": 3, "null": 4}


def test_what_an_alias_stands_for_is_what_its_anchor_last_was() -> None:
    text = "- &a [&b x]\n- &b y\n- *a\n- *b\n- {*b : 1}\n"
    assert read(text) == [["x"], "y", ["x"], "y", {"y": 1}]


def test_every_piece_has_its_place() -> None:
    _, marks = read_yaml("a:\n  - b: é\n    c: [1, x]\n", "s.yaml")
    places = {path: (str(mark.key), str(mark.value)) for path, mark in marks.items()}
    assert places == {
        (): ("s.yaml:1:1", "s.yaml:1:1"),
        ("a",): ("s.yaml:1:1", "s.yaml:2:3"),
        ("a", 0): ("s.yaml:2:5", "s.yaml:2:5"),
        ("a", 0, "b"): ("s.yaml:2:5", "s.yaml:2:8"),
        ("a", 0, "c"): ("s.yaml:3:5", "s.yaml:3:8"),
        ("a", 0, "c", 0): ("s.yaml:3:9", "s.yaml:3:9"),
        ("a", 0, "c", 1): ("s.yaml:3:12", "s.yaml:3:12"),
    }


HOSTILE = {
    "long number": ("a: " + "1" * 5000, "s.yaml:1:4: a: a number of more than 100 digits"),
    "wrong tag": ("a:\n  b: !!int foo", "s.yaml:2:6: a.b: 'foo' is no int"),
    "tag of a list": ("a: !!map [1]", "s.yaml:1:4: a: unknown YAML tag tag:yaml.org,2002:map"),
    "object": ("a: !!python/object:os.system {}", "s.yaml:1:4: a: unknown YAML tag tag:yaml.org"),
    "own tag": ("a: !mine 3", "s.yaml:1:4: a: unknown YAML tag !mine"),
    "binary": ("a: !!binary aGk=", "s.yaml:1:4: a: unknown YAML tag"),
    "no number": ("a: .nan", "s.yaml:1:4: a: NaN"),
    "twice": ("a: 1\nb: 2\na: 3", "s.yaml:3:1: duplicate key 'a', first in line 1"),
    "twice below": ("x: {a: 1,\n 'a': 2}", "s.yaml:2:2: x: duplicate key 'a', first in line 1"),
    "merge": ("a: {<<: {b: 1}}", "s.yaml:1:5: a: merge keys (<<) are no YAML 1.2"),
    "list as a key": ("? [a, b]\n: 1", "s.yaml:1:3: expected text as a key"),
    "number as a key": ("!!int 5: 1", "s.yaml:1:1: expected text as a key"),
    "no such anchor": ("a: *b", "s.yaml:1:4: is no valid YAML: found undefined alias 'b'"),
    "a star": ("a: [*.b]", "; text that begins with * stands in quotes"),
    "itself": ("a: &b\n  c: *b", "s.yaml:2:6: a.c: refers to itself"),
    "path between braces": ("v: {fleet[0].x: 1}", "brackets stands in quotes: 'fleet[0].compute'"),
    "control character": ("a: 1\nb: 'x\x07'", "s.yaml:2:6: is no valid YAML: unacceptable char"),
    "surrogate": ("a: \ud800", "s.yaml:1:4: is no valid YAML: unacceptable character U+D800"),
    "no character": (r'a: "\U00110000"', "is no valid YAML"),
    "two documents": ("a: 1\n---\nb: 2", "s.yaml:2:1: is no valid YAML: found a second document"),
    "tab": ("a:\n  b: 1\n\tc: 2", "; indent with spaces"),
    "no end of a quote": ("a: 1\nb: 'x\nc: 2\n", "a quoted scalar (from line 2) found unexpected"),
    "no end of a brace": ("a: {b: 1\nc: 2", "a flow mapping (from line 1)"),
    "no end of the last brace": ("a: {b: [1,\n", "; is the } or ] missing that belongs to"),
    "one brace too many": ("a: {b: 1}}\nc: 2", "; there is a } too many"),
    "a comma as in JSON": ("a: {b: 1},\nc: 2", "; lines end without a comma"),
    "no colon before a list": ("a: {b: 1, c [2]}", "; is the ': ' (a colon and a space) missing"),
    "the first line indented": ("  a: 1\nb: 2", "; compare its indentation with the first line's"),
    "indentation": ("a:\n  b: 1\n c: 2", "; compare its indentation, and"),
    "no space before a value": ("a:1\nb: 2", "; is the ': ' (a colon and a space) missing in the"),
    "brackets": ("a: " + "[" * 900, "s.yaml:1:53: is nested too deeply"),
    "more brackets": ("a: " + "[" * 100_000, "is nested too deeply: more than 50 levels"),
    "indents": ("".join(" " * i + "a:\n" for i in range(200)), "s.yaml:51:51: is nested too"),
    "dashes": ("- " * 100_000, "is nested too deeply: more than 50 levels"),
    "aliases inward": (
        "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}]\n" for i in range(1, 99)),
        "is nested too deeply",
    ),
    "aliases of aliases": (
        "a0: &a0 [x, x, x, x, x, x, x, x]\n"
        + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 8)}]\n" for i in range(1, 9)),
        "has more than 50,000 values",
    ),
    "many items": ("- 1\n" * 200_000, "s.yaml:100002:3: has more than 50,000 values"),
    "5 MB": ("".join(f"k{i}: {i}\n" for i in range(400_000)), "longer than 1,000,000 characters"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_what_no_scenario_can_hold(name: str) -> None:
    text, words = HOSTILE[name]
    assert words in refused(text)


def test_only_the_first_problems_are_told() -> None:
    assert refused("- !!int foo\n" * 9_000).count("\n") == 99


def test_a_file_is_not_read_further_than_needed() -> None:
    from simfl.scenario import Document

    with pytest.raises(ScenarioError, match="/dev/zero: is longer than 1,000,000 bytes"):
        Document.load("/dev/zero")


@pytest.mark.parametrize("file", SCENARIOS, ids=lambda file: file.stem)
def test_both_parsers_find_the_same(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = file.read_text("utf-8")
    parsed = read_yaml(text, "s.yaml")
    monkeypatch.setattr(language, "PARSER", yaml.BaseLoader)
    assert parsed == read_yaml(text, "s.yaml")


words = st.text(max_size=12) | st.sampled_from(
    ["on", "off", "yes", "no", "null", "~", "", " ", "true", "False", "5", "0o17", "017", "1e3",
     "1_000", ".inf", ".nan", "1:30", "2024-01-31", "2024-01-31 10:00:00", "=", "<<", "- a", "a: b",
     "#x", "a #b", "&a", "*a", "!x", "%x", "@x", "`x", "'", '"', "a\nb", "\n", "\t", "é", "\u2028",
     "\x85", "\ufeff", "\U0001f600", "...", "---", "? a", "|", ">", "[", "{", "]", "a,b", "x" * 300]
)  # fmt: skip
plain_data = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**98), 10**98) | st.floats(allow_nan=False) | words,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4),
    max_leaves=20,
)


def same(left: Any, right: Any) -> bool:
    """Equal, and of the same types: 1 is neither 1.0 nor true."""
    if isinstance(left, dict) and isinstance(right, dict):
        return list(left) == list(right) and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return type(left) is type(right) and repr(left) == repr(right)


@settings(max_examples=100)
@given(st.dictionaries(words, plain_data, max_size=4))
def test_plain_data_survive(data: dict[str, Any]) -> None:
    assert same(read(to_yaml(data)), data)


@settings(max_examples=100)
@given(words)
def test_other_readers_find_the_same_text(text: str) -> None:
    """Most of them read YAML 1.1, where `on` is a truth and 1:30 a number."""
    assert yaml.safe_load(to_yaml({"key": text})) == {"key": text}
