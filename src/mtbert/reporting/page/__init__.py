"""The report as one HTML file that needs no network: `rendering` puts the sections' parts into layout.html."""

from mtbert.reporting.page.rendering import render

__all__ = ["render"]
