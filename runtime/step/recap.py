"""The one note that stands in place of what was folded away.

It is kept as parts beside its text, so that a later one is made of them, and nothing has to be read back out of a text
that a person, a model or a tool may have written. All heads begin as those that no peer can write (`heads`).
"""

from dataclasses import dataclass

__all__ = ("Recap",)


@dataclass(frozen=True, slots=True)
class Recap:
    """What a model still knows of the turns that are gone.

    Attributes:
        summary: What a model wrote about them; empty: nothing.
        slid: Turns are gone that `summary` does not tell of.
        done: Earlier requests, a line each, oldest first.
        mails: Messages of peers with their heads, word for word, oldest first.
        plan: The plan's status with its head, if it is not told in the turns that stayed.
        task: The request in work, if it does not stand in the turns that stayed.
        last: What happened last, in short, where the turns themselves were too large.
        hint: What the model was told about a call that it goes on repeating.
    """

    summary: str = ""
    slid: bool = False
    done: tuple[str, ...] = ()
    mails: tuple[str, ...] = ()
    plan: str = ""
    task: str = ""
    last: str = ""
    hint: str = ""

    @property
    def text(self) -> str:
        """The note as a model reads it. What it is to do stands last, as nothing before it is to be done again."""
        parts = (
            f"[Note: summary of earlier messages]\n{self.summary}" if self.summary else "",
            "[Note: earlier messages left out]" if self.slid else "",
            "\n".join(("[Note: earlier requests, all done]", *(f"- {line}" for line in self.done)))
            if self.done
            else "",
            f"[Note: what happened last, in short]\n{self.last}" if self.last else "",
            *self.mails,
            self.plan,
            self.hint,
            f"[Note: current request]\n{self.task}" if self.task else "",
        )
        return "\n\n".join(part for part in parts if part)
