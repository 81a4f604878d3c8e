"""The dashboard for Grafana that is shipped with the product."""

from importlib.resources import files

__all__ = ("FILE_NAME", "shipped_dashboard")

FILE_NAME = "amrita-fleet.json"
"""What a file with it is called."""

SHIPPED = "grafana.json"
"""The file beside this module that holds it."""


def shipped_dashboard() -> str:
    """The dashboard as JSON, as Grafana imports it."""
    return files(__package__ or "").joinpath(SHIPPED).read_text(encoding="utf-8")
