"""Server-sent events: bytes in, cut anywhere, and the data of each whole event out.

Our own because the parsers there are read from an open response, while this one has to run in tests that cut recorded
bytes at every place.

Source: WHATWG HTML, "Parsing an event stream".
"""

__all__ = ("EventReader",)

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class EventReader:
    """Takes the bytes of one stream. Of an event only the data are kept: no chat format needs more."""

    def __init__(self) -> None:
        """Begin a stream."""
        self._line = bytearray()
        self._data: list[bytes] = []
        self._after_cr = False
        self._begun = False

    def feed(self, chunk: bytes) -> list[str]:
        """The data of the events that `chunk` completes."""
        if self._after_cr and chunk:
            # "\r\n" is one line end even when it is cut in two.
            chunk = chunk.removeprefix(b"\n")
            self._after_cr = False
        if b"\n" not in chunk and b"\r" not in chunk:
            self._line += chunk
            return []
        self._after_cr = chunk.endswith(b"\r")
        lines = (bytes(self._line) + chunk).splitlines()
        self._line = bytearray() if chunk.endswith((b"\n", b"\r")) else bytearray(lines.pop())
        return [data for line in lines if (data := self._take(line))]

    def close(self) -> str:
        """The data of an event whose last line end or blank line never came; empty when there is none."""
        if self._line:
            self._take(bytes(self._line))
            self._line.clear()
        return self._take(b"")

    def _take(self, line: bytes) -> str:
        """Take one line; give the data of the event that it ends, else nothing."""
        if not self._begun:
            self._begun = True
            line = line.removeprefix(BYTE_ORDER_MARK)
        if line:
            # A comment has an empty name. One space after the colon belongs to the syntax, and may be missing.
            name, _, value = line.partition(b":")
            if name == b"data":
                self._data.append(value.removeprefix(b" "))
            return ""
        data = b"\n".join(self._data).decode("utf-8", "replace")
        self._data.clear()
        return data
