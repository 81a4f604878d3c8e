"""The `amrita-fleet` command. It imports neither Ray nor httpx before a command needs them."""

from .app import main

__all__ = ("main",)
