"""Recorded exchanges of real providers, where they lie beside this repository."""

import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from amrita_fleet.protocols.messages import Json
from amrita_fleet.protocols.presets import ModelConfig, ModelPreset
from amrita_fleet.protocols.profiles import profile_for
from amrita_fleet.protocols.providers.lenient import mapping, text

__all__ = ("ABSENT", "WIRE", "Recording", "preset_for", "recordings")

WIRE: Final = Path(__file__).resolve().parents[3] / "shared" / "wire"
ABSENT = "no recorded exchanges lie beside this repository, in ../shared/wire"
FRAMING: Final = frozenset({"transfer-encoding", "content-length", "connection"})
"""Headers of the connection that was recorded, which say nothing of ours."""


@dataclass(frozen=True)
class Recording:
    """One recorded answer.

    Attributes:
        body: What came, decompressed.
        url: Where the request went; empty where nobody knows.
        model: What it asked for; empty where nobody knows.
    """

    folder: str
    number: str
    status: int
    headers: dict[str, str]
    body: bytes
    streamed: bool
    url: str
    model: str

    @classmethod
    def load(cls, path: Path) -> "Recording":
        number = path.name.partition(".")[0]
        meta = mapping(json.loads(path.with_name(f"{number}.meta.json").read_text(encoding="utf-8")))
        asked = path.with_name(f"{number}.request.json")
        request: Json = json.loads(asked.read_text(encoding="utf-8")) if asked.exists() else None
        headers = {name.lower(): text(value) for name, value in mapping(meta["response_headers"]).items()}
        status = meta["status"]
        assert isinstance(status, int)
        return cls(
            folder=path.parent.name,
            number=number,
            status=status,
            headers={name: value for name, value in headers.items() if name not in FRAMING},
            body=path.read_bytes(),
            streamed=path.suffix == ".sse",
            url=text(meta.get("uri")),
            model=text(mapping(request).get("model")),
        )

    @property
    def protocol(self) -> str:
        return "anthropic" if self.folder.startswith("anthropic-") else "openai"

    @property
    def sent(self) -> bytes:
        """The body as it went over the wire."""
        return gzip.compress(self.body, mtime=0) if self.headers.get("content-encoding") == "gzip" else self.body


def recordings(*, streamed: bool | None = None, few: bool = False) -> list[object]:
    """The paths of recorded answers, as a test's parameters; without any, one that skips the test and says so.

    Args:
        streamed: Only streams, or only whole answers; None: both.
        few: Only each eighth, which are of many providers.
    """
    paths = [path for path in sorted(WIRE.glob("*/*.response.*")) if streamed in {None, path.suffix == ".sse"}]
    chosen = paths[::8] if few else paths
    found: list[object] = [pytest.param(path, id=f"{path.parent.name}-{path.name[:2]}") for path in chosen]
    return found or [pytest.param(WIRE, id="none", marks=pytest.mark.skip(reason=ABSENT))]


def preset_for(recording: Recording, base_url: str) -> ModelPreset:
    """A preset for the provider that was recorded, which is now to be found at `base_url`."""
    model = recording.model or "m"
    return ModelPreset(
        protocol=recording.protocol,
        model=model,
        base_url=base_url,
        config=ModelConfig(stream=recording.streamed, timeout=20),
        profile=profile_for(recording.protocol, recording.url, model, "").name,
    )
