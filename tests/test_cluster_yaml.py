"""`ray up` accepts `cluster.yaml`: Ray's own validator says so, without a network."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

CLUSTER = Path(__file__).resolve().parent.parent / "cluster.yaml"

pytestmark = pytest.mark.ray


@pytest.fixture
def text() -> str:
    return CLUSTER.read_text(encoding="utf-8")


def accept(text: str) -> dict[str, Any]:
    """What `ray up` does with the file before it reaches for a machine."""
    from ray.autoscaler._private.util import prepare_config, validate_config

    config = prepare_config(yaml.safe_load(text))
    validate_config(config)
    return config


def starts(config: dict[str, Any], role: str) -> str:
    """The command that starts Ray on nodes of this role."""
    (command,) = (line for line in config[f"{role}_start_ray_commands"] if "ray start" in line)
    return str(command)


def test_ray_up_accepts_the_file(text: str) -> None:
    config = accept(text)
    assert config["provider"]["type"] == "local"
    assert config["max_workers"] == len(config["provider"]["worker_ips"])


def test_an_unknown_key_is_refused(text: str) -> None:
    with pytest.raises(Exception, match="agent_slots") as refused:
        accept(f"{text}\nagent_slots: 100\n")
    assert refused.typename == "ValidationError"


def test_a_missing_provider_is_refused(text: str) -> None:
    config = yaml.safe_load(text)
    del config["provider"]
    with pytest.raises(Exception, match="provider"):
        accept(yaml.safe_dump(config))


@pytest.mark.parametrize("role", ["head", "worker"])
def test_every_node_asks_for_the_token_and_may_open_many_files(text: str, role: str) -> None:
    command = starts(accept(text), role)
    assert "RAY_AUTH_MODE=token" in command
    assert "ulimit -n 65535" in command


def test_the_head_runs_no_work_and_forgets_dead_actors(text: str) -> None:
    command = starts(accept(text), "head")
    assert "--num-cpus=0" in command
    assert "RAY_maximum_gcs_destroyed_actor_cached_count=5000" in command
    assert "agent_slot" not in command


def test_the_workers_offer_a_whole_number_of_agent_slots(text: str) -> None:
    offered = re.search(r"--resources='(?P<resources>{.*})'", starts(accept(text), "worker"))
    assert offered is not None
    slots = yaml.safe_load(offered["resources"])["agent_slot"]
    assert isinstance(slots, int) and slots > 0


def test_every_field_is_explained(text: str) -> None:
    lines = text.splitlines()
    fields = [number for number, line in enumerate(lines) if re.match(r"\s*[\"~\w/.-]+\"?:( |$)", line)]
    bare = [lines[number] for number in fields if not lines[number - 1].lstrip().startswith("#")]
    assert bare == []
