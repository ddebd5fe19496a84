"""One self-contained page of the report's Markdown and pictures."""

import base64
import html
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import jinja2
from markdown_it import MarkdownIt
from PIL import Image

from mtbert.report import markdown
from mtbert.report.pictures.drawing import NARROW_ENDING

LAYOUT = Path(__file__).with_name("page.html")
IMAGE = re.compile(r'<img src="([^":]+)\.png"([^>]*)>')
INTERVAL = re.compile(r"(\[[^\[\],<>]+), ([^\[\],<>]+\])")
PHONE = "(max-width: 40rem)"  # where a narrow picture is shown, if there is one


@dataclass(frozen=True)
class PageSection:
    """A section of the report.

    Attributes:
        name: its anchor.
        title: its heading.
        body: Markdown.
        folded: whether it opens on a click.
    """

    name: str
    title: str
    body: str
    folded: bool = False

    @property
    def markdown(self) -> str:
        """The section for a README."""
        title = markdown.literal(self.title)
        if self.folded:
            return f"<details><summary>{title}</summary>\n\n{self.body}\n\n</details>"
        return f"## {title}\n\n{self.body}"


def render(sections: Sequence[PageSection], folder: Path) -> str:
    """Return the page, with the first section's title; `folder` holds the pictures that the Markdown names."""
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    bodies = {section.name: _embedded(parser.render(section.body), folder) for section in sections}
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    return environment.from_string(LAYOUT.read_text(encoding="utf-8")).render(sections=sections, bodies=bodies)


def _embedded(body: str, folder: Path) -> str:
    """The pictures' own bytes in place of their names, tables in boxes that scroll, and intervals that stay whole."""

    def content(image: re.Match[str]) -> str:
        name = html.unescape(image[1])
        picture = f'<img loading="lazy" src="{_as_address(folder / f"{name}.png")}"{image[2]}>'
        narrow = folder / f"{name}{NARROW_ENDING}.png"
        if not narrow.is_file():
            return picture
        return f'<picture><source media="{PHONE}" srcset="{_as_address(narrow)}">{picture}</picture>'

    boxed = body.replace("<table>", '<div class="box"><table>').replace("</table>", "</table></div>")
    aligned = boxed.replace(' style="text-align:left"', "").replace(' style="text-align:right"', ' class="r"')
    return IMAGE.sub(content, INTERVAL.sub("\\1,&nbsp;\\2", aligned))


def _as_address(file: Path) -> str:
    return f"data:image/webp;base64,{base64.b64encode(_as_webp(file)).decode()}"


def _as_webp(file: Path) -> bytes:
    """Return a picture without loss in a format that takes a sixth less than PNG."""
    buffer = io.BytesIO()
    with Image.open(file) as picture:
        picture.convert("RGB").save(buffer, "WEBP", lossless=True, quality=100)
    return buffer.getvalue()
