"""One self-contained page of the report's Markdown and pictures."""

import base64
import html
import re
from pathlib import Path

import jinja2
from markdown_it import MarkdownIt

LAYOUT = Path(__file__).with_name("page.html")
IMAGE = re.compile(r'<img src="([^":]+\.png)"')


def render(title: str, sections: dict[str, str], folder: Path) -> str:
    """Return the page.

    Args:
        title: of the page.
        sections: Markdown by the anchor of each section, in order; a first `## ` heading is its title.
        folder: holds the pictures that the Markdown names.
    """
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    parts = [
        {"anchor": anchor, "title": html.unescape(_title(text)), "body": _embedded(markdown.render(text), folder)}
        for anchor, text in sections.items()
    ]
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    return environment.from_string(LAYOUT.read_text(encoding="utf-8")).render(title=title, sections=parts)


def _title(text: str) -> str:
    return text.lstrip().splitlines()[0].lstrip("# ").replace("`", "")


def _embedded(body: str, folder: Path) -> str:
    """The pictures' own bytes in place of their names."""

    def content(found: re.Match[str]) -> str:
        picture = (folder / html.unescape(found[1])).read_bytes()
        return f'<img loading="lazy" src="data:image/png;base64,{base64.b64encode(picture).decode()}"'

    return IMAGE.sub(content, body)
