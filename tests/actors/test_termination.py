"""A process that owns a fleet on Ray is ended by a signal: its agents drain, and nothing of it is left.

Ray has handlers of its own for SIGTERM, in C: it prints a stack trace, and aborts the process three seconds later.
"""

import signal
import time
from typing import Any, cast

import pytest
from ray.util import list_named_actors

from ..terminated import owner

pytestmark = [pytest.mark.ray, pytest.mark.slow]

BESIDE = 4
"""The least number of processes beside the owner: Ray's head and node, the Supervisor, the agent."""


def actors() -> list[str]:
    """Those of the process's fleet on the Ray of this session."""
    found = cast("Any", list_named_actors)(all_namespaces=True)
    return sorted(each["name"] for each in found if each["namespace"] == "amrita-terminated")


def gone() -> None:
    """Wait until there is none."""
    until = time.monotonic() + 30
    while actors():
        assert time.monotonic() < until, actors()
        time.sleep(0.1)


def test_a_process_that_is_asked_to_end_drains_its_fleet_and_ends_by_the_signal() -> None:
    with owner("ray", "works") as process:
        process.told("works")
        assert process.count() >= BESIDE
        process.signal(signal.SIGTERM)
        assert process.ended() == (-signal.SIGTERM, "leaves\nis over\n", "")
        assert process.left_behind() == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "Ctrl-C"])
def test_a_second_signal_ends_it_at_once_and_leaves_nothing_behind(number: signal.Signals) -> None:
    with owner("ray", "stuck") as process:
        process.told("works")
        assert process.count() >= BESIDE
        process.signal(number)
        process.told("leaves")
        process.signal(number)
        status, out, err = process.ended()
        assert (status, out) == (-number, "is over\n"), err
        before, cut_off, _ = err.partition("ana is cut off in mid-Step")
        assert cut_off, err
        assert not before or number == signal.SIGINT, "Ctrl-C leaves a traceback too"
        assert process.left_behind() == []


def test_ctrl_c_in_a_terminal_reaches_every_process_and_the_agents_drain_all_the_same() -> None:
    with owner("ray", "works") as process:
        process.told("works")
        assert process.count() >= BESIDE
        process.signal(signal.SIGINT, everybody=True)
        status, out, err = process.ended()
        assert (status, out) == (-signal.SIGINT, "leaves\nis over\n")
        assert "cut off in mid-Step" not in err
        assert process.left_behind() == []


@pytest.mark.parametrize(("how", "times"), [("works", 1), ("stuck", 2)], ids=["once", "twice"])
def test_a_cluster_that_others_use_keeps_nothing_of_it(ray_cluster: str, how: str, times: int) -> None:
    with owner("ray", how, address=ray_cluster) as process:
        process.told("works")
        assert actors() == ["agent:ana", "supervisor"]
        process.signal(signal.SIGTERM)
        if times == 2:
            process.told("leaves")
            process.signal(signal.SIGTERM)
        status, out, _ = process.ended()
        assert status == -signal.SIGTERM
        assert out.endswith("is over\n")
        gone()
