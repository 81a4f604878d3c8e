"""Call ids and signatures that say with which reasoning they came.

So the rule that reasoning goes back unchanged can be checked on the request alone, however many requests came between
and whichever process of the simulator gave the answer.
"""

import base64
import hashlib
import re

__all__ = ("broken", "call_id", "signature")

SEALED = re.compile(r"call_([0-9a-f]{12})_\d+_\d+")


def call_id(reasoning: str, request: int, place: int) -> str:
    """The id of the call at `place` of the answer to request number `request`."""
    return f"call_{digest(reasoning).hex()[:12]}_{request}_{place}"


def broken(identifier: str, reasoning: str) -> bool:
    """Whether `identifier` is one of ours, and its call came with another reasoning."""
    ours = SEALED.fullmatch(identifier)
    return ours is not None and ours[1] != digest(reasoning).hex()[:12]


def signature(reasoning: str) -> str:
    """What signs a thinking block."""
    return base64.b64encode(b"simulated:" + digest(reasoning)).decode()


def digest(reasoning: str) -> bytes:
    """What a change of the reasoning changes."""
    return hashlib.sha256(reasoning.encode("utf-8", "surrogatepass")).digest()
