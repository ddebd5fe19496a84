"""The report as one HTML file that needs no network: `site` assembles and renders it, `figures` says what is drawn."""

from mtbert.reporting.site.site import render

__all__ = ["render"]
