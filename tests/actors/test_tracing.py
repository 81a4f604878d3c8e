"""What agents' processes tell of themselves: spans at a collector, and lines of JSON in Ray's log files."""

import gzip
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import NamedTuple

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

pytestmark = [pytest.mark.ray, pytest.mark.slow]

SOURCES = Path(__file__).resolve().parents[2]


class Told(NamedTuple):
    """A span, and which process it is of."""

    instance: str
    span: Span


@contextmanager
def collector() -> Generator[tuple[str, list[Told]]]:
    """A collector of spans on this machine; gives its address, and what comes."""
    told: list[Told] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                data = gzip.decompress(data)
            assert self.path == "/v1/traces"
            for each in ExportTraceServiceRequest.FromString(data).resource_spans:
                facts = {fact.key: fact.value.string_value for fact in each.resource.attributes}
                told.extend(Told(facts["service.instance.id"], span) for one in each.scope_spans for span in one.spans)
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the base class names it
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    serving = Thread(target=server.serve_forever, daemon=True)
    serving.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", told
    finally:
        server.shutdown()
        server.server_close()
        serving.join()


def test_spans_of_two_processes_are_linked_and_their_logs_say_where_they_come_from() -> None:
    with tempfile.TemporaryDirectory(prefix="t", dir="/tmp", ignore_cleanup_errors=True) as folder:
        with collector() as (address, told):
            settings = {"OTEL_EXPORTER_OTLP_ENDPOINT": address, "AMRITA_LOG": "json", "RAY_TMPDIR": folder}
            environment = {**os.environ, **settings, "PYTHONPATH": f"{SOURCES / 'src'}:{SOURCES}"}
            command = [sys.executable, "-m", "tests.actors.traced"]
            done = subprocess.run(
                command, env=environment, cwd=SOURCES, capture_output=True, text=True, timeout=110, check=False
            )
        assert done.returncode == 0, done.stderr
        files = [path.read_text(errors="replace") for path in Path(folder).rglob("worker-*.err")]

    run, caller = done.stdout.split()
    by_name = {each.span.name: each for each in told if each.span.name != "step"}
    assert by_name["invoke_agent ana"].instance == "traced/ana"
    assert by_name["invoke_agent ana"].span.parent_span_id.hex() == caller
    assert by_name["invoke_agent bob"].instance == "traced/bob"
    asked = by_name["execute_tool ask_peer"].span
    (read,) = [each.span for each in told if each.span.name == "step" and each.instance == "traced/bob"]
    assert [(link.trace_id, link.span_id) for link in read.links] == [(asked.trace_id, asked.span_id)]
    assert read.parent_span_id == by_name["invoke_agent bob"].span.span_id

    lines = [json.loads(line) for text in files for line in text.splitlines() if line.startswith('{"time"')]
    (failed,) = [line for line in lines if "break_down failed" in line["message"]]
    broken = by_name["execute_tool break_down"].span
    assert (failed["fleet"], failed["agent"], failed["run"], failed["step"]) == ("traced", "ana", run, 1)
    assert (failed["trace_id"], failed["span_id"]) == (broken.trace_id.hex(), broken.span_id.hex())
