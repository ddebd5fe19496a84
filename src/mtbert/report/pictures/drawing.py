"""What all pictures share: colours that colour-blind people tell apart, and small files whose bytes know no clock."""

import io
from collections.abc import Sequence
from pathlib import Path

import matplotlib
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.text import Text
from PIL import Image

from mtbert import files
from mtbert.errors import first_of
from mtbert.report import markdown

WIDTH = 9.7  # inches, which fill the page
NARROW = 4.2  # inches, which fill a phone's
DOTS = 100  # an inch
NARROW_DOTS = 120  # the page of 119 variants stays below 1.5 MB
NARROW_ENDING = "-narrow"  # of the name of a picture that the page shows in place of another on a phone
LONGEST_LABEL = 60  # characters of a name in a picture, which has no room for its lines else
COLOURS = 64  # of a picture's file, which makes it a third as large
# Those of Okabe and Ito (https://jfly.uni-koeln.de/color/), with grey instead of yellow, which white swallows.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#000000", "#56b4e9", "#e69f00", "#999999")

FONT = "DejaVu Sans"  # which comes with matplotlib, and is in all pictures of this project
# For letters that it lacks, in this order where they are installed. They change no picture without such letters.
FURTHER_FONTS = (
    "Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans CJK KR", "Source Han Sans SC", "WenQuanYi Zen Hei",
    "WenQuanYi Micro Hei", "Droid Sans Fallback", "PingFang SC", "Hiragino Sans", "Apple SD Gothic Neo",
    "Noto Sans Devanagari", "Noto Sans Bengali", "Noto Sans Tamil", "Noto Sans Thai", "Noto Sans Ethiopic",
    "Arial Unicode MS",
)  # fmt: skip
BOXES = "Last Resort High-Efficiency"  # which comes with matplotlib; it has a box for each script, and no letters
MOST_LETTERS = 10  # in the line on those that no font has

matplotlib.rcParams["text.parse_math"] = False  # in the names of ways and classes a dollar is a dollar


def use_fonts() -> None:
    """Draw with FONT, and each letter that it lacks with the first of FURTHER_FONTS that has it, else as a box."""
    installed = {font.name for font in font_manager.fontManager.ttflist}
    further = [name for name in (*FURTHER_FONTS, BOXES) if name in installed]
    matplotlib.rcParams["font.family"] = [FONT, *further]


use_fonts()


def short(label: str) -> str:
    """Return a name as one line that fits into a picture."""
    line = markdown.plain(label)
    return line if len(line) <= LONGEST_LABEL else f"{line[: LONGEST_LABEL - 1]}\N{HORIZONTAL ELLIPSIS}"


def empty(height: float, width: float = WIDTH) -> Figure:
    """Return a figure of that many inches, with room around its parts."""
    return Figure(figsize=(width, height), layout=ConstrainedLayoutEngine(h_pad=0.08, w_pad=0.08))


def label_lines(axes: Axes, labels: Sequence[str], is_narrow: bool = False) -> None:
    """Name the lines of a picture at the heights 0, 1, ... from the top: beside them; if it is narrow, above each."""
    axes.set_ylim(len(labels) - 0.4, -0.8 if is_narrow else -0.6)
    axes.set_yticks(range(len(labels)), [""] * len(labels) if is_narrow else labels)
    if is_narrow:
        for height, label in enumerate(labels):
            axes.text(0, height - 0.22, label, transform=axes.get_yaxis_transform(), va="bottom", fontsize="small")


def put(figure: Figure, folder: Path, name: str, text: str, alt: str, dots: int = DOTS) -> str:
    """Save a figure below a report's folder; return the text above it, and the picture, as Markdown.

    The text says which letters of the figure no font has.
    """
    _save(figure, folder / "pictures" / f"{name}.png", dots)
    return "\n\n".join(filter(None, [text, _missing_letters(figure), f"![{alt}](pictures/{name}.png)"]))


def _missing_letters(figure: Figure) -> str:
    """Return a line on the letters of a figure that are drawn as boxes; empty where there are none."""
    texts = [text.get_text() for text in figure.findobj(Text) if isinstance(text, Text)]
    letters = {letter for text in texts for letter in text if letter.isprintable() and not letter.isspace()}
    for name in matplotlib.rcParams["font.family"]:
        if name != BOXES:
            font = font_manager.get_font(font_manager.findfont(font_manager.FontProperties(family=name)))
            letters -= {*map(chr, font.get_charmap())}
    if not letters:
        return ""
    some = first_of(sorted(letters), MOST_LETTERS)
    return f"The picture has boxes in place of {some}, which no font has here; install Noto Sans CJK or the like."


def put_narrow(figure: Figure, folder: Path, name: str) -> None:
    """Save the form of a picture that the page shows on a phone."""
    _save(figure, folder / "pictures" / f"{name}{NARROW_ENDING}.png", NARROW_DOTS)


def _save(figure: Figure, file: Path, dots: int) -> None:
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=dots, metadata={"Software": None})
    small = Image.open(buffer).convert("RGB")
    small = small.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)  # keeps rare colours, too
    file.parent.mkdir(parents=True, exist_ok=True)
    with files.new_file(file) as partial:
        small.save(partial, "PNG", optimize=True)
