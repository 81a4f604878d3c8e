from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet.protocols.providers.sse import EventReader


def read(*chunks: bytes) -> list[str]:
    reader = EventReader()
    events = [data for chunk in chunks for data in reader.feed(chunk)]
    rest = reader.close()
    return [*events, rest] if rest else events


def test_an_event_ends_with_a_blank_line() -> None:
    reader = EventReader()
    assert reader.feed(b"data: one\n") == []
    assert reader.feed(b"\n") == ["one"]


def test_comments_ids_and_event_names_are_no_data() -> None:
    assert read(b": ping\n\nid: 7\nevent: message\nretry: 10\ndata: hi\n\n: ping\n\n") == ["hi"]


def test_one_space_after_the_colon_is_syntax_and_may_be_missing() -> None:
    assert read(b"data:a\n\ndata: b\n\ndata:  c\n\n") == ["a", "b", " c"]


def test_several_data_lines_are_one_event() -> None:
    assert read(b'data: {"a":\ndata: 1}\n\n') == ['{"a":\n1}']


def test_an_event_without_data_is_none() -> None:
    assert read(b"data:\n\ndata\n\nevent: x\n\n\n\n") == []


def test_every_line_end_ends_a_line() -> None:
    assert read(b"data: a\r\n\r\ndata: b\r\rdata: c\n\n") == ["a", "b", "c"]


def test_a_line_end_cut_in_two_is_still_one() -> None:
    assert read(b'data: {"a":\r', b"\ndata: 1}\r", b"\n", b"\r", b"\n") == ['{"a":\n1}']


def test_an_empty_chunk_between_cr_and_lf_changes_nothing() -> None:
    assert read(b"data: a\r", b"", b"\ndata: b\n\n") == ["a\nb"]


def test_a_byte_order_mark_is_no_part_of_the_first_line() -> None:
    assert read(b"\xef\xbb", b"\xbfdata: a\n\n") == ["a"]


def test_the_last_event_is_given_at_the_end_even_without_its_line_ends() -> None:
    assert read(b"data: a\n\ndata: [DONE]") == ["a", "[DONE]"]
    assert read(b"data: a\n\ndata: [DONE]\n") == ["a", "[DONE]"]


def test_bytes_that_are_no_utf8_do_not_break_the_stream() -> None:
    assert read(b"data: \xff\n\n") == ["\ufffd"]


LINES = st.sampled_from([b"data: a", b"data:b", b"data: \xf0\x9f\x98\x80", b": c", b"", b"event: d", b"data"])
ENDS = st.sampled_from([b"\n", b"\r", b"\r\n"])


@given(st.lists(st.tuples(LINES, ENDS), max_size=12), st.data())
def test_where_the_bytes_are_cut_makes_no_difference(lines: list[tuple[bytes, bytes]], data: st.DataObject) -> None:
    whole = b"".join(line + end for line, end in lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    pieces = [whole[start:end] for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    assert read(*pieces) == read(whole)
