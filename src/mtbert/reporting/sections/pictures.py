"""All pictures, one below the other."""

from mtbert.reporting.sections.base import Report, Section


def render(report: Report) -> str:
    """The pictures after what they leave out; of the first seed where they show single runs."""
    if not report.pictures:
        return ""
    images = []
    for picture in report.pictures:
        images.append(f"**{picture.title}**\n\n![{picture.title}](../pictures/{picture.name}.png)")
    return "\n\n".join(["## Pictures", *filter(None, [report.completed.detail]), *images])


SECTION = Section(name="pictures", about="pictures", markdown=render)
