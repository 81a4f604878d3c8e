"""What a docstring says of a function and of each of its parameters: Google, NumPy or reST style."""

import inspect
import re
from textwrap import indent

__all__ = ("read_docstring",)


def read_docstring(function: object) -> tuple[str, dict[str, str]]:
    """The description, and the whole block that stands for each parameter.

    Sections other than the parameters' (returns, raises, examples) end the description. What no style explains is
    description in full.
    """
    from docstring_parser import DocstringParam, parse

    parsed = parse(text_of(function))
    about = {one.arg_name: one.description for one in parsed.params if one.description}
    others = (one for one in parsed.meta if not isinstance(one, DocstringParam))
    sections = (f"{' '.join(one.args).capitalize()}: {one.description}" for one in others if one.description)
    return "\n\n".join(part.strip() for part in (parsed.description, *sections) if part), about


def text_of(function: object) -> str:
    """The docstring; if it opens with a heading, with the block below it indented, which cleaning has undone.

    A blank first line keeps the parser, which cleans once more, from doing so again.
    """
    text = inspect.getdoc(function) or ""
    first, _, rest = text.partition("\n")
    return f"\n{first}\n{indent(rest, '    ')}" if re.fullmatch(r"\w+:", first) and rest[:1].strip() else text
