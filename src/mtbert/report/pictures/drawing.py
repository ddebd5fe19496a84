"""What all pictures share: colours that colour-blind people tell apart, and small files whose bytes know no clock."""

import io
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from PIL import Image

from mtbert import files

WIDTH = 9.7  # inches, which fill the page
DOTS = 100  # an inch
COLOURS = 64  # of a picture's file, which makes it a third as large
# Those of Okabe and Ito (https://jfly.uni-koeln.de/color/), with grey instead of yellow, which white swallows.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#000000", "#56b4e9", "#e69f00", "#999999")


def empty(height: float) -> Figure:
    """Return a figure of that many inches that fills the page's width, with room around its parts."""
    return Figure(figsize=(WIDTH, height), layout=ConstrainedLayoutEngine(h_pad=0.08, w_pad=0.08))


def put(figure: Figure, folder: Path, name: str, text: str, alt: str, dots: int = DOTS) -> str:
    """Save a figure below a report's folder; return the text above it, and the picture, as Markdown."""
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=dots, metadata={"Software": None})
    small = Image.open(buffer).convert("RGB")
    small = small.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)  # keeps rare colours, too
    file = folder / "pictures" / f"{name}.png"
    file.parent.mkdir(parents=True, exist_ok=True)
    with files.new_file(file) as partial:
        small.save(partial, "PNG", optimize=True)
    return "\n\n".join(filter(None, [text, f"![{alt}](pictures/{name}.png)"]))
