"""The schema of `update_step`, which a model sees only while it works on a plan.

No function stands behind it: the plan belongs to the pure core, which carries the call out itself.
"""

from ...protocols.messages import Json
from ...protocols.providers.base import ToolSchema
from ..step.revision import ACTIONS, UPDATE_STEP

__all__ = ("UPDATE_STEP_TOOL",)


def ids(description: str) -> Json:
    """The schema of a list of steps' ids."""
    return {"type": "array", "items": {"type": "string"}, "description": description}


STEP: Json = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "description": "A short id of its own."},
        "title": {"type": "string", "description": "What is to be done."},
        "needs": ids("Ids of the steps whose results it uses: new ones, or ones that are done."),
    },
    "required": ["id", "title"],
    "additionalProperties": False,
}

UPDATE_STEP_TOOL = ToolSchema(
    name=UPDATE_STEP,
    description=(
        "Change the plan you work on. mark_done: a step is done. add_step: one more step. remove_step: a step is not "
        "needed or cannot be done. replan: other steps in the place of all that is not done. "
        "The answer shows the new plan."
    ),
    parameters={
        "type": "object",
        "properties": {
            "action": {"type": "string", "enum": list(ACTIONS), "description": "What to do to the plan."},
            "id": {
                "type": "string",
                "description": "The step's id. mark_done: the current step if left out. add_step: any free one.",
            },
            "title": {"type": "string", "description": "For add_step: what is to be done."},
            "needs": ids("For add_step: ids of the steps whose results it uses."),
            "summary": {"type": "string", "description": "For mark_done: what came of the step, in one line."},
            "steps": {"type": "array", "items": STEP, "description": "For replan: all that is still to be done."},
        },
        "required": ["action"],
        "additionalProperties": False,
    },
)
"""The tool as a model sees it."""
