"""A real Prometheus scrapes a fleet on Ray."""

import asyncio
import shutil
import subprocess
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import httpx
import pytest
import ray

from amrita_fleet import Agent, Fleet, tool
from amrita_fleet.protocols.providers.scripted import call, say, scripted
from amrita_fleet.runtime.metrics.catalogue import CATALOGUE, Kind

from ..runtime.journal.server import free_port

pytestmark = [pytest.mark.ray, pytest.mark.slow, pytest.mark.anyio]

MakeFleet = Callable[..., Fleet]

PATIENCE = 60.0
"""Seconds until Prometheus has what Ray hands on every ten seconds."""


@contextmanager
def prometheus(folder: Path) -> Generator[str]:
    """A Prometheus on this machine that scrapes this Ray every second; gives its address."""
    program = shutil.which("prometheus")
    if program is None:
        pytest.skip("Prometheus is not installed: the package is named prometheus")
    nodes = cast("Callable[[], list[dict[str, object]]]", ray.nodes)()
    targets = [f"'{node['NodeManagerAddress']}:{node['MetricsExportPort']}'" for node in nodes if node["Alive"]]
    config = folder / "prometheus.yml"
    config.write_text(
        "global: {scrape_interval: 1s}\n"
        f"scrape_configs: [{{job_name: ray, static_configs: [{{targets: [{', '.join(targets)}]}}]}}]\n"
    )
    listens = f"127.0.0.1:{free_port()}"
    options = (f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}", f"--web.listen-address={listens}")
    with (
        (folder / "prometheus.log").open("wb") as log,
        subprocess.Popen([program, *options], stdout=log, stderr=log) as running,
    ):
        try:
            yield f"http://{listens}"
        finally:
            running.terminate()


async def asked(client: httpx.AsyncClient, query: str) -> list[tuple[dict[str, str], float]]:
    """What Prometheus answers: labels and values."""
    answer = (await client.get("/api/v1/query", params={"query": query})).raise_for_status().json()
    return [(each["metric"], float(each["value"][1])) for each in answer["data"]["result"]]


async def until(client: httpx.AsyncClient, query: str, value: float) -> None:
    """Wait until a query's only answer is this."""
    got: object = None
    try:
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    got = [found for _, found in await asked(client, query)]
                except httpx.HTTPError as error:  # it is being started: nobody listens, or it answers 503
                    got = error
                if got == [value]:
                    return
                await asyncio.sleep(0.5)  # Prometheus tells nobody that it has something new
    except TimeoutError:
        raise AssertionError(f"{query}: {got}") from None


@tool
async def add(left: int, right: int) -> int:
    """Add."""
    return left + right


async def test_a_prometheus_gets_what_a_fleet_does_without_any_agents_name(ray_cluster: str, tmp_path: Path) -> None:
    model = scripted(call("add", left=1, right=2), say("It is 3."))
    async with Fleet("measured", address=ray_cluster, limit=100_000) as fleet:
        ana, _ = await fleet.spawn(Agent(preset=model, tools=(add,)), ["ana", "bob"])
        outcome = await ana.run("Add.")
        with prometheus(tmp_path) as address:
            async with httpx.AsyncClient(base_url=address, trust_env=False) as client:
                mine = '{fleet="measured"}'
                await until(client, f"sum(ray_amrita_fleet_steps_total{mine})", 1)
                await until(client, f"sum(ray_amrita_fleet_rounds_total{mine})", 2)
                await until(client, f"sum(ray_amrita_fleet_model_tokens_total{mine})", outcome.tokens)
                await until(client, f"sum(ray_amrita_fleet_check_in_seconds_count{mine})", 2)
                await until(client, f"sum(ray_amrita_fleet_model_seconds_count{mine})", 2)
                await until(client, 'ray_amrita_fleet_tool_calls_total{fleet="measured", outcome="ended"}', 1)
                await until(client, 'ray_amrita_fleet_runs_total{fleet="measured", outcome="answered"}', 1)
                await until(client, 'ray_amrita_fleet_agents{fleet="measured", state="idle"}', 2)
                await until(client, 'ray_amrita_fleet_spent{fleet="measured", unit="tokens"}', outcome.tokens)
                await until(client, 'ray_amrita_fleet_limit{fleet="measured", unit="tokens"}', 100_000)
                found = await asked(client, '{__name__=~"ray_amrita_fleet_.+", fleet="measured"}')
    known = {f"ray_{each.name}": each for each in CATALOGUE}
    known |= {
        f"ray_{each.name}_{end}": each
        for each in CATALOGUE
        if each.kind is Kind.HISTOGRAM
        for end in ("bucket", "count", "sum")
    }
    assert {labels["__name__"] for labels, _ in found} <= known.keys()
    assert not [labels for labels, _ in found if {"ana", "bob"} & set(labels.values())]
