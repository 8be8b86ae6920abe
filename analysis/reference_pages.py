"""Pages of the site that are generated: of the language, columns, components, commands, sources."""

import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import typer
import yaml

from analysis.markdown import anchors
from simfl import __version__
from simfl.cli.app import app, load_commands
from simfl.core import rows
from simfl.runs.folder import provenance_keys, summary
from simfl.runs.folder.event_kinds import EVENT_KINDS, EventKind
from simfl.runs.folder.file_descriptions import FILES, column_texts
from simfl.runs.folder.folder import EVENTS, PROVENANCE, SUMMARY
from simfl.scenario.distributions import DISTRIBUTIONS
from simfl.scenario.keys import keys
from simfl.scenario.parts.catalogue import DEVICES, catalogue
from simfl.scenario.parts.part import Part
from simfl.scenario.reference.describe import Description
from simfl.scenario.reference.kinds import KINDS, registry
from simfl.scenario.reference.option import Option, options
from simfl.scenario.reference.references import references
from simfl.scenario.scenario import Scenario

_ARXIV = re.compile(r"arXiv:(\d{4}\.\d{4,5})")
_SPECIFIED = re.compile(r"docs/(algorithms\.md),\s([A-H](?:\.\d+)?|0\.1)\b")

# Scenario -------------------------------------------------------------------------------------


def scenario_page() -> str:
    """Return the reference of the scenario language: every part, key, default and unit."""
    parts = {part.__name__: part for part in _parts(Scenario)}
    blocks = [
        "# Scenario reference\n\nGenerated from the classes that read scenarios, from which "
        "`simfl schema` makes the schema for editors too. A key without a default is required. "
        "Quantities are text with a unit. Where a component is taken, give its name, or "
        "`{name: ..., option: ...}`.",
        _part("The scenario", Scenario, parts),
        *(_part(_titled(part), part, parts) for part in parts.values()),
        "## Distributions\n\nAny number of a device can be `{distribution: NAME, ...}`; quantities "
        "have the unit of the number. Every device has a draw of its own.",
        *(_part(name, draw, parts, level=3) for name, draw in DISTRIBUTIONS.items()),
    ]
    return "\n\n".join(blocks) + "\n"


def _titled(part: type[Part]) -> str:
    """Return the heading of a part: its name, and its path if it has but one."""
    paths = [key.path + key.items for key in keys(lambda *_: []) if key.part is part]
    return f"{part.__name__}: `{paths[0]}`" if len(paths) == 1 else part.__name__


def _parts(model: type[Any]) -> Iterator[type[Part]]:
    """Yield the parts that a part is made of, those of these, and so on."""
    seen: set[type] = set()

    def below(part: type[Any]) -> Iterator[type[Part]]:
        for field in part.model_fields.values():
            for inner in _classes(field.annotation):
                if issubclass(inner, Part) and inner not in seen:
                    seen.add(inner)
                    yield inner
                    yield from below(inner)

    return below(model)


def _classes(annotation: Any) -> Iterator[type]:
    if inspect.isclass(annotation):
        yield annotation
    for argument in getattr(annotation, "__args__", ()):
        yield from _classes(argument)


def _part(title: str, model: type[Any], parts: dict[str, type[Part]], level: int = 2) -> str:
    text = _specified((inspect.getdoc(model) or "").replace("``", "`"), "")
    return f"{'#' * level} {title}\n\n{text}\n\n{_option_table(options(model), parts)}"


def _option_table(
    declared: Sequence[Option], parts: Mapping[str, type[Part]] = MappingProxyType({})
) -> str:
    """Return a table of options; types that are parts of a scenario lead to them."""
    described = [
        (
            f"`{option.name}`",
            _linked(option.type, parts),
            "" if option.required else _default(option),
            option.description + (f" ({option.unit})" if option.unit else ""),
        )
        for option in declared
    ]
    return _table(("key", "takes", "default", "what"), described)


def _linked(text: str, parts: Mapping[str, type[Part]]) -> str:
    for kind in KINDS:
        title = rf"\b{re.escape(registry(kind).kind)}(?=, by name)"
        text = re.sub(title, rf"[\g<0>]({'components/' * bool(parts)}{kind}.md)", text)
    for name, part in parts.items():
        (anchor,) = anchors(f"# {_titled(part)}")
        text = re.sub(rf"\b{name}\b", f"[{name}](#{anchor})", text)
    return text.replace("distribution", "[distribution](#distributions)") if parts else text


def _default(option: Option) -> str:
    if option.default is None or option.default in ("{}", [], ""):
        return "none"
    if " | null" not in option.type and "=" in str(option.default):
        return "its own"
    value = str(option.default)
    return f"`{value.lower() if isinstance(option.default, bool) else value}`"


def _table(header: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *body]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


# Columns --------------------------------------------------------------------------------------


def columns_page() -> str:
    """Return the glossary of all output columns, of the event log, summary and provenance."""
    tables = {"rounds.csv": rows.RoundRow, "clients.csv": rows.ClientRow}
    blocks = [
        "# Columns\n\nGenerated from where they are declared. Names say units: `_s` virtual "
        "seconds since the run began, `_j` joules, `_bytes` bytes. `simfl export` puts the tables "
        "of many runs below each other and adds `scenario`, `variant`, `seed` and a column for "
        "each factor of a sweep. How they are computed: [formulas](formulas.md)."
    ]
    for file, row in tables.items():
        body = [(f"`{name}`", text) for name, text in column_texts(row).items()]
        about = (row.__doc__ or "").partition("\n\n")[0]
        blocks.append(f"## {file}\n\n{about}\n\n{_table(('column', 'meaning'), body)}")
    outcomes = column_texts(rows)["Outcome"]
    blocks.append(f"### Outcomes\n\nOf a participation: {outcomes}")
    kinds = [(f"`{kind}`", event.meaning, _line_of(event)) for kind, event in EVENT_KINDS.items()]
    blocks.append(
        f"## events.jsonl\n\n{FILES[EVENTS]().about} Every line has `t`, virtual seconds since the "
        f"run began, and `event`.\n\n{_table(('event', 'meaning', 'its line says'), kinds)}"
    )
    for file, meanings in ((SUMMARY, summary.MEANINGS), (PROVENANCE, provenance_keys.MEANINGS)):
        body = [(f"`{key}`", text) for key, text in meanings.items()]
        blocks.append(f"## {file}\n\n{_table(('key', 'meaning'), body)}")
    return "\n\n".join(blocks) + "\n"


def _line_of(event: EventKind) -> str:
    """Return what stands in the line of an event of that kind."""
    if event.row_of:
        return f"the columns of {event.row_of}"
    return "; ".join(f"`{name}`: {text}" for name, text in event.facts.items())


# Components -----------------------------------------------------------------------------------


def kind_page(kind: str) -> str:
    """Return the page of a kind of component: every member, its options, cost and source."""
    names = catalogue() if kind == DEVICES else registry(kind).names()
    members = [_member(Description.find(kind, name)) for name in names]
    title = kind.capitalize()
    about = (
        "Generated from their code, as is what `simfl describe` prints. To cite an algorithm, cite "
        "its source and [simfl](../cite.md). Marks such as A.5 are sections of "
        "[the algorithms as specified](../algorithms.md)."
    )
    return "\n\n".join([f"# {title}", about, *members]) + "\n"


def _member(description: Description) -> str:
    blocks = [f"## {description.name}", _specified(description.text, "../")]
    if description.options:
        blocks.append(_option_table(description.options))
    if description.source:
        source = _specified(description.source, "../")
        blocks.append("**Source.** " + _ARXIV.sub(r"[\g<0>](https://arxiv.org/abs/\1)", source))
    if description.bibtex:
        blocks.append(f"**To cite.**\n\n```bibtex\n{description.bibtex}\n```")
    blocks.append(f"Code: `{description.module}`")
    return "\n\n".join(blocks)


def _specified(text: str, up: str) -> str:
    """Return `text` with links to the sections of docs/algorithms.md that it cites.

    Args:
        text: Markdown.
        up: leads from the folder of its page to that of algorithms.md.
    """

    def link(match: re.Match[str]) -> str:
        page, section = match.groups()
        return f"[as specified, {section}]({up}{page}{_anchor(section)})"

    return _SPECIFIED.sub(link, text)


@cache
def _anchor(section: str) -> str:
    """Return the anchor of a section of docs/algorithms.md, such as A.3 ("": it has no heading)."""
    page = Path(__file__).parents[1] / "docs" / "algorithms.md"
    first = section.replace(".", "").lower() + "-"
    known = anchors(page.read_text(encoding="utf-8"))
    return next((f"#{anchor}" for anchor in sorted(known) if anchor.startswith(first)), "")


# How to cite ----------------------------------------------------------------------------------


def cite_page(citation: Path) -> str:
    """Return how to cite simfl, from its CITATION.cff, and the sources of all components."""
    own = yaml.safe_load(citation.read_text(encoding="utf-8"))
    authors = " and ".join(f"{{{author['name']}}}" for author in own["authors"])
    entry = (
        f"@software{{simfl,\n  author = {{{authors}}},\n  title = {{{{{own['title']}}}}},\n"
        f"  version = {{{__version__}}},\n  license = {{{own['license']}}},\n}}"
    )
    sources = "\n\n".join(entry for _, entry in references())
    return (
        f"# How to cite\n\n{own['message']} Cite the algorithms that you use as well: "
        "`simfl describe KIND NAME` and the pages of components show theirs.\n\n"
        f"## simfl\n\n```bibtex\n{entry}\n```\n\n## All sources\n\n```bibtex\n{sources}\n```\n"
    )


# Commands and the notebook --------------------------------------------------------------------


def commands_page() -> str:
    """Return what every command says with --help."""
    load_commands()
    blocks = ["# Commands\n\nWhat `--help` says of each."]
    commands: dict[str, Any] = getattr(typer.main.get_command(app), "commands")  # noqa: B009
    for name, command in commands.items():
        context = command.make_context(f"simfl {name}", [], resilient_parsing=True)
        blocks.append(f"## simfl {name}\n\n```text\n{command.get_help(context)}\n```")
    return "\n\n".join(blocks) + "\n"


def notebook_page(notebook: Path) -> str:
    """Return a notebook's cells as Markdown."""
    wraps: dict[str, Callable[[str], str]] = {
        "markdown": str, "code": lambda code: f"```python\n{code}\n```"
    }  # fmt: skip
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    blocks = [wraps[cell["cell_type"]]("".join(cell["source"])) for cell in cells]
    return "\n\n".join(blocks) + "\n"
