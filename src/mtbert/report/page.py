"""One self-contained page of the report's Markdown and pictures."""

import base64
import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import jinja2
from markdown_it import MarkdownIt

LAYOUT = Path(__file__).with_name("page.html")
IMAGE = re.compile(r'<img src="([^":]+\.png)"')


@dataclass(frozen=True)
class Section:
    """A section of the report.

    Attributes:
        name: its anchor.
        text: Markdown that begins with its heading.
        folded: whether it opens on a click.
    """

    name: str
    text: str
    folded: bool = False

    @property
    def title(self) -> str:
        """Its heading."""
        return self.text.partition("\n")[0].lstrip("# ")

    @property
    def body(self) -> str:
        """What follows the heading."""
        return self.text.partition("\n")[2].strip()

    @property
    def markdown(self) -> str:
        """The section for a README."""
        return f"<details><summary>{self.title}</summary>\n\n{self.body}\n\n</details>" if self.folded else self.text


def render(sections: Sequence[Section], folder: Path) -> str:
    """Return the page, with the first section's title; `folder` holds the pictures that the Markdown names."""
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    parts = [
        {"anchor": one.name, "title": html.unescape(one.title), "folded": one.folded}
        | {"body": _embedded(markdown.render(one.body if one.folded else one.text), folder)}
        for one in sections
    ]
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    return environment.from_string(LAYOUT.read_text(encoding="utf-8")).render(sections=parts)


def _embedded(body: str, folder: Path) -> str:
    """The pictures' own bytes in place of their names, and each table in a box that scrolls."""

    def content(found: re.Match[str]) -> str:
        picture = (folder / html.unescape(found[1])).read_bytes()
        return f'<img loading="lazy" src="data:image/png;base64,{base64.b64encode(picture).decode()}"'

    boxed = body.replace("<table>", '<div class="box"><table>').replace("</table>", "</table></div>")
    return IMAGE.sub(content, boxed)
