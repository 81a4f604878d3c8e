"""What a model answers when it is asked for a plan, or for what came of a step.

Small models wrap their JSON in fences and words: the first object in the text that has the fields asked for counts.
"""

from ..errors import PlanInvalid
from .json_in_text import first_object
from .plan import LONGEST_SUMMARY, LONGEST_TITLE, MOST_NODES, Node, Plan, one_line
from .plan_parts import read_steps

__all__ = (
    "DECOMPOSE_ALWAYS",
    "DECOMPOSE_SYSTEM",
    "SUMMARISE_SYSTEM",
    "read_decomposition",
    "read_summary",
)

FORM = f"""\
{{"kind": "plan", "steps": [
  {{"id": "read", "title": "Read both files", "needs": []}},
  {{"id": "compare", "title": "Compare what they say", "needs": ["read"]}}
]}}
Ids are short and unique. "needs" names the steps whose results a step uses; no step may need itself, directly or \
through others. Use as few steps as the task allows, at most {MOST_NODES}. Do not do the task itself."""

DECOMPOSE_SYSTEM = f"""\
Decide whether the user's task is simple or needs a plan. Answer with one JSON object and nothing else.
If the task can be done in one go, answer
{{"kind": "simple"}}
Answer so unless several steps that depend on one another really help. Only then answer
{FORM}"""
"""Asks whether a task is simple or a plan."""

DECOMPOSE_ALWAYS = f"""\
Make a plan for the user's task. Answer with one JSON object and nothing else:
{FORM}"""
"""Asks for a plan."""

SUMMARISE_SYSTEM = """\
Say what the step that has just ended has brought. Answer with one JSON object and nothing else: a verb in the past \
tense, and what it was done to, with the result that later steps need.
{"verb": "compared", "object": "both files: the second has 120 words more"}"""
"""Asks what came of a step."""

PLANS = ("plan", "dag")
"""The kinds that are no simple task."""


def read_decomposition(text: str) -> tuple[Node, ...]:
    """The steps a model divides a task into; none where it says that the task is simple, or names fewer than two.

    Raises:
        PlanInvalid: The text holds no such answer, or its steps are no plan.
    """
    answer = first_object(text, "kind", "steps")
    if answer is None:
        raise PlanInvalid(reason="the answer holds no JSON object with 'kind'")
    kind = str(answer.get("kind") or "plan").strip().casefold()
    if kind == "simple":
        return ()
    if kind not in PLANS:
        raise PlanInvalid(reason=f"its kind must be 'simple' or 'plan', not {one_line(kind, LONGEST_TITLE)!r}")
    nodes = read_steps(answer.get("steps"))
    return Plan.of(nodes).nodes if len(nodes) > 1 else ()


def read_summary(text: str) -> str | None:
    """What came of a step, as `verb object` in one line; None where the answer does not say."""
    answer = first_object(text, "verb", "object") or {}
    words = [each for each in (answer.get("verb"), answer.get("object")) if isinstance(each, str)]
    return one_line(" ".join(words), LONGEST_SUMMARY) or None
