"""What to cite: BibTeX entries of the sources of components, kept once, in references.bib."""

import re
from functools import cache
from importlib.resources import files

_ENTRY = re.compile(r"^@\w+\{.*?^\}$", re.MULTILINE | re.DOTALL)
_OF = re.compile(r"^  simfl = \{(.*?)\},\n", re.MULTILINE | re.DOTALL)


@cache
def references() -> tuple[tuple[frozenset[str], str], ...]:
    """Return each entry, and of which components, as ``kind/name``, it is the source."""
    text = files(__package__).joinpath("references.bib").read_text(encoding="utf-8")
    entries = []
    for entry in _ENTRY.findall(text):
        [listed] = _OF.findall(entry)
        entries.append((frozenset(listed.replace(",", " ").split()), _OF.sub("", entry)))
    return tuple(entries)


def bibtex(kind: str, name: str) -> str:
    """Return the entries of a component's sources, below each other ("": there is none).

    Args:
        kind: plural.
        name: as scenarios write it.
    """
    return "\n\n".join(entry for of, entry in references() if f"{kind}/{name}" in of)
