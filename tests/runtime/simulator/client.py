"""A plain client of a simulator."""

import ssl

import httpx

__all__ = ("client_of",)


def client_of(base_url: str = "", **headers: str) -> httpx.AsyncClient:
    """A client for http alone: it loads no certificates, which takes longer than most tests."""
    return httpx.AsyncClient(base_url=base_url, headers=headers, verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
