"""What a docstring says of a function and of each of its parameters: Google, NumPy or reST style."""

import inspect

__all__ = ("read_docstring",)


def read_docstring(function: object) -> tuple[str, dict[str, str]]:
    """The description, and the whole block that stands for each parameter.

    Sections other than the parameters' (returns, raises, examples) end the description. What no style explains is
    description in full.
    """
    from docstring_parser import DocstringParam, parse

    parsed = parse(inspect.getdoc(function) or "")
    about = {one.arg_name: one.description for one in parsed.params if one.description}
    others = (one for one in parsed.meta if not isinstance(one, DocstringParam))
    sections = (f"{' '.join(one.args).capitalize()}: {one.description}" for one in others if one.description)
    return "\n\n".join(part.strip() for part in (parsed.description, *sections) if part), about
