"""What a person may write of what agents may spawn."""

import pickle

import pytest

from amrita_fleet import Agent, AmritaConfig, MailConfig, PresetInvalid, SpawnPolicy, TokenLimit, create_agent
from amrita_fleet.protocols.providers.scripted import say, scripted
from amrita_fleet.protocols.spawning import Allowance
from amrita_fleet.runtime.agent import kind_of
from amrita_fleet.runtime.tools.spawn_agent import KindOffer

MODEL = scripted(say("hi"))
READER = create_agent(preset=MODEL, instructions="You read files.", limit=500)


def test_an_agents_policy_says_in_numbers_what_it_may_spawn() -> None:
    lead = create_agent(preset=MODEL, spawns=SpawnPolicy(kinds={"reader": READER}, depth=2, tokens=900))
    assert lead.allowance == Allowance(depth=2, children=8, live=4, tokens=900)
    assert READER.allowance is None
    assert kind_of(lead, "reader") is READER
    with pytest.raises(LookupError, match="no kind 'writer'"):
        kind_of(lead, "writer")


def test_a_kind_is_offered_by_its_description_or_else_by_how_its_instructions_begin() -> None:
    described = create_agent(preset=MODEL, description="counts words", instructions="You count.")
    wordy = create_agent(preset=MODEL, instructions="You count. " * 100)
    policy = SpawnPolicy(kinds={"reader": READER, "counter": described, "wordy": wordy})
    assert policy.offers["reader"] == KindOffer("You read files.", TokenLimit(tokens=500))
    assert policy.offers["counter"] == KindOffer("counts words")
    assert policy.offers["wordy"].about.endswith("...")
    assert len(policy.offers["wordy"].about) <= 200


def test_a_policy_goes_to_another_process_with_its_agent() -> None:
    lead = Agent(preset=MODEL, spawns=SpawnPolicy(kinds={"reader": READER}))
    assert pickle.loads(pickle.dumps(lead)) == lead


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"kinds": {}}, "SpawnPolicy.kinds must map the name of each kind to its Agent"),
        ({"kinds": [READER]}, "SpawnPolicy.kinds must map the name of each kind to its Agent"),
        ({"kinds": {"a reader": READER}}, r"kinds\['a reader'\]: a kind's name has 1 to 64 letters"),
        ({"kinds": {"reader": "You read."}}, r"kinds\['reader'\] must be an Agent"),
        ({"kinds": {"reader": READER}, "depth": 0}, "SpawnPolicy.depth must be a whole number of at least 1, not 0"),
        ({"kinds": {"reader": READER}, "live": True}, "SpawnPolicy.live must be a whole number"),
        ({"kinds": {"reader": READER}, "children": 1.5}, "SpawnPolicy.children must be a whole number"),
        ({"kinds": {"reader": READER}, "tokens": -1}, "SpawnPolicy.tokens must be a whole number"),
        ({"kinds": {"reader": READER}, "childs": 3}, "SpawnPolicy has no field 'childs': did you mean 'children'"),
        ({"depth": 1}, "SpawnPolicy needs kinds="),
    ],
)
def test_a_policy_by_which_nobody_could_be_spawned_is_refused(given: dict[str, object], sentence: str) -> None:
    with pytest.raises(PresetInvalid, match=sentence):
        SpawnPolicy(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize("on_mail", ["keep", "refuse"])
def test_a_kind_that_no_task_would_wake_is_refused(on_mail: str) -> None:
    config = AmritaConfig(mail=MailConfig(on_mail=on_mail))  # type: ignore[arg-type]
    with pytest.raises(PresetInvalid, match=r"it gets its task by mail, so its config\.mail\.on_mail must be 'wake'"):
        SpawnPolicy(kinds={"reader": create_agent(preset=MODEL, config=config)})


def test_something_else_than_a_policy_is_refused() -> None:
    with pytest.raises(PresetInvalid, match=r"Agent\.spawns must be a SpawnPolicy, or None"):
        create_agent(preset=MODEL, spawns={"reader": READER})  # type: ignore[call-overload]
