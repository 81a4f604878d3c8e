"""Amrita Fleet: an actor-model runtime for fleets of LLM agents on Ray."""

__all__: tuple[str, ...] = ()
