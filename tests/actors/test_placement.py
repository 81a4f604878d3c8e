"""Where agents go, told from the rows of `ray.nodes()`."""

from itertools import islice

import pytest
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from amrita_fleet import SystemUnavailable
from amrita_fleet.actors.placement import Node, Place, cores, places, slots

pytestmark = pytest.mark.ray


def node(name: str, *, cpus: float = 2, slots: float = 0, alive: bool = True) -> Node:
    """A row; the first letter of the name, a hex digit, fills the id."""
    resources = {"CPU": cpus, "agent_slot": slots, "memory": 1e9}
    return {
        "NodeID": 56 * name[0],
        "Alive": alive,
        "Resources": {key: value for key, value in resources.items() if value},
    }


def nodes_of(found: list[Place]) -> list[str]:
    strategies = [place.get("scheduling_strategy") for place in found]
    return [each.node_id[0] for each in strategies if isinstance(each, NodeAffinitySchedulingStrategy) and each.soft]


def test_on_a_single_node_there_is_nothing_to_choose() -> None:
    assert list(islice(places([node("a")], 9), 2)) == [{}, {}]


def test_agents_take_turns_on_the_living_nodes_that_have_cpus() -> None:
    cluster = [node("head", cpus=0), node("a"), node("gone", alive=False), node("b")]
    assert nodes_of(list(islice(places(cluster, 5), 5))) == ["a", "b", "a", "b", "a"]


def test_where_nodes_offer_slots_each_agent_takes_one() -> None:
    cluster = [node("head", cpus=0), node("a", slots=2), node("b", slots=2)]
    expected: Place = {"resources": {"agent_slot": 1}, "scheduling_strategy": "SPREAD"}
    assert list(islice(places(cluster, 4), 4)) == [expected] * 4


def test_more_agents_than_slots_is_an_error_with_the_numbers() -> None:
    cluster = [node("a", slots=2), node("b", slots=2, alive=False)]
    with pytest.raises(SystemUnavailable, match="offer 2 agent_slot together, and 3 agents need one each"):
        places(cluster, 3)


def test_slots_that_are_taken_are_not_free_a_second_time() -> None:
    cluster = [node("a", slots=2), node("b", slots=2)]
    assert slots(cluster) == 4
    assert len(list(islice(places(cluster, 1, taken=3), 1))) == 1
    with pytest.raises(SystemUnavailable, match="offer 4 agent_slot together, of which 3 are taken, and 2 agents"):
        places(cluster, 2, taken=3)
    with pytest.raises(SystemUnavailable, match="of which 4 are taken, and 1 agent needs one"):
        places(cluster, 1, taken=4)


def test_a_cluster_has_the_cores_of_its_living_nodes_and_at_least_one() -> None:
    assert cores([node("a"), node("b", cpus=4), node("c", alive=False)]) == 6
    assert cores([node("head", cpus=0)]) == 1
