"""However a recorded body is cut, it means the same; and its beginning alone is never taken for something else."""

from dataclasses import replace
from http import HTTPStatus
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amrita_fleet.protocols.adapters import adapter_class
from amrita_fleet.protocols.errors import ProviderError
from amrita_fleet.protocols.messages import Finish, Message, Reply, Role
from amrita_fleet.protocols.providers.base import Adapter

from .recording import Recording, preset_for, recordings

pytestmark = pytest.mark.slow

FEW, MANY = 2, 150
"""Examples a recording, by default and in slow runs."""

Outcome = Reply | tuple[type[ProviderError], str]


class Reader:
    """Reads one recording without a socket."""

    def __init__(self, path: Path) -> None:
        recording = Recording.load(path)
        preset = preset_for(recording, "http://127.0.0.1/v1")
        self.body = recording.body
        self._recording = recording
        self._adapter: Adapter = adapter_class(recording.protocol)(preset)
        self._draft = self._adapter.draft((Message(Role.USER, "Go on."),), (), None)

    def read(self, *pieces: bytes) -> Outcome:
        try:
            return self._read(pieces)
        except ProviderError as error:
            return type(error), str(error)

    def _read(self, pieces: tuple[bytes, ...]) -> Reply:
        headers = self._recording.headers
        if self._recording.status != HTTPStatus.OK:
            raise self._adapter.refusal(self._recording.status, headers, b"".join(pieces))
        if not self._recording.streamed:
            return self._adapter.reply(headers, b"".join(pieces), self._draft)
        stream = self._adapter.stream(headers, self._draft)
        for piece in pieces:
            stream.feed(piece)
        return stream.close()

    def places(self) -> st.SearchStrategy[int]:
        """Where to cut: anywhere, but often at the ends of lines, where most can go wrong."""
        ends = [place + 1 for place, byte in enumerate(self.body) if byte in b"\r\n"] or [len(self.body) // 2]
        near = st.tuples(st.sampled_from(ends), st.integers(-2, 2)).map(sum)
        return near.filter(lambda place: 0 < place < len(self.body)) | st.integers(1, len(self.body) - 1)


def try_cuts(path: Path, examples: int) -> None:
    reader = Reader(path)
    whole = reader.read(reader.body)

    @settings(max_examples=examples, deadline=None)
    @given(st.lists(reader.places(), unique=True, max_size=60).map(sorted))
    def reads_the_same(cuts: list[int]) -> None:
        pieces = [reader.body[start:end] for start, end in pairwise([0, *cuts, len(reader.body)])]
        assert reader.read(*pieces) == whole

    reads_the_same()


def try_beginnings(path: Path, examples: int) -> None:
    reader = Reader(path)
    whole = reader.read(reader.body)

    @settings(max_examples=examples, deadline=None)
    @given(reader.places())
    def is_an_error_or_the_same(end: int) -> None:
        begun = reader.read(reader.body[:end])
        if not isinstance(begun, Reply):
            return
        if isinstance(whole, Reply):
            # What the provider counted comes last; without it there is an estimate that says that it is one.
            usage = whole.usage if begun.usage.estimated else begun.usage
            assert replace(begun, usage=usage) == whole
        else:
            # Where an error came after the end of an answer, that answer says itself that it is not whole.
            assert begun.finish is Finish.LENGTH

    is_an_error_or_the_same()


@pytest.mark.parametrize("path", recordings(streamed=True, few=True))
def test_a_recorded_stream_reads_the_same_however_it_is_cut(path: Path) -> None:
    try_cuts(path, FEW)


@pytest.mark.parametrize("path", recordings(few=True))
def test_the_beginning_of_a_recorded_answer_is_an_error_or_the_same_answer(path: Path) -> None:
    try_beginnings(path, FEW)


@pytest.mark.slow
@pytest.mark.parametrize("path", recordings(streamed=True))
def test_many_cuts_of_a_recorded_stream_change_nothing(path: Path) -> None:
    try_cuts(path, MANY)


@pytest.mark.slow
@pytest.mark.parametrize("path", recordings())
def test_many_beginnings_of_a_recorded_answer_are_errors_or_the_same_answer(path: Path) -> None:
    try_beginnings(path, MANY)


@pytest.mark.slow
@pytest.mark.parametrize("path", recordings(streamed=True))
def test_a_recorded_stream_reads_the_same_byte_by_byte(path: Path) -> None:
    reader = Reader(path)
    assert reader.read(*(bytes([byte]) for byte in reader.body)) == reader.read(reader.body)
