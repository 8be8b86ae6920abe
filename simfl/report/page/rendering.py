"""Templates, style and script of the pages; everything that users wrote is escaped."""

import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from simfl.report.page.tables import LONG

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

SCRIPT = (
    "ground", "axes", "curves", "pointer", "still", "downloads", "figures", "tables", "pivot",
    "start",
)  # fmt: skip
"""Files of `script/` that make the script of a page, in this order."""
WORD = 10
"""Letters that stay beside their colour."""


def render(template: str, **values: Any) -> str:
    """Return one of the templates with everything that users wrote escaped."""
    return _templates().get_template(template).render(style=asset("style.css"), **values)


def script() -> str:
    """Return the script of a page with charts; its files share one scope, which is their own."""
    parts = "\n".join(asset(f"script/{name}.js") for name in SCRIPT)
    return f'"use strict";\n(() => {{\n{parts}}})();\n'


def asset(name: str) -> str:
    """Return a file of this room."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


@cache
def _templates() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader(__package__)
    templates = Environment(loader=loader, autoescape=True, undefined=StrictUndefined)
    templates.globals["long"] = LONG
    templates.filters["with_code"] = _with_code
    templates.filters["with_breaks"] = _with_breaks
    return templates


def _with_code(text: str) -> "Markup":
    """Return `text`, escaped, with what stands between backquotes set as code."""
    from markupsafe import Markup, escape

    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def _with_breaks(text: str, key: str = "", marks: str = "_=/-") -> "Markup":
    """Return a name, escaped, that lines break only after its marks, and not after its colour."""
    from markupsafe import Markup, escape

    first, *others = re.findall(f"[^{marks}]*[{marks}]+|[^{marks}]+", text) or [""]
    head = Markup('<i class="key {}"></i>{}' if key else "{1}").format(key, first)
    if key and len(first) <= WORD:
        head = Markup('<span class="whole">{}</span>').format(head)
    return Markup("<wbr>").join([head, *map(escape, others)])
