"""What a Markdown page links to, and what can be linked to in it."""

import re

LINK = re.compile(r"(\[[^\]]*\])\((?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?\)")
"""``[text](path#anchor)`` within the repository."""
_BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`")


def links(text: str) -> list[tuple[str, str]]:
    """Return where the links of Markdown `text` lead within the repository: path, and anchor.

    >>> links("[a](b.md#c), [d](#e), [f](https://g.org), `[h](i)`")
    [('b.md', 'c'), ('', 'e')]
    """
    prose = _CODE.sub("", _BLOCK.sub("", text))
    elsewhere = [(match[2], (match[3] or "")[1:]) for match in LINK.finditer(prose)]
    return elsewhere + [("", anchor) for anchor in re.findall(r"\]\(#([^)\s]+)\)", prose)]


def anchors(text: str) -> set[str]:
    r"""Return the anchors of the headings of Markdown `text`, as GitHub and the site make them.

    >>> sorted(anchors("# Bytes & time\n## `to_here`"))
    ['bytes--time', 'to_here']
    """
    titles = re.findall(r"^#+ +(.*?) *$", _BLOCK.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
