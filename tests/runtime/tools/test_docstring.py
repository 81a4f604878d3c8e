from amrita_fleet.runtime.tools.docstring import read_docstring

MODES = '- "fast": quick results\n- "deep": exhaustive scan'


def google() -> None:
    """Scan a file.

    It may take long.

    Args:
        mode (str): One of:
            - "fast": quick results
            - "deep": exhaustive scan
        path: Where: a path.

    Returns:
        The findings,
        sorted.
    """


def numpy() -> None:
    """Scan a file.

    It may take long.

    Parameters
    ----------
    mode : str
        One of:
        - "fast": quick results
        - "deep": exhaustive scan
    path : str
        Where: a path.
    """


def rest() -> None:
    """Scan a file.

    It may take long.

    :param mode: One of:
        - "fast": quick results
        - "deep": exhaustive scan
    :param str path: Where: a path.
    """


def unusual() -> None:
    """Scan a file.

    Modes
      fast, deep
    """


def unfinished() -> None:
    """Scan a file.

    Args:
        whatever you like
    """


def bare() -> None:
    pass


def test_the_whole_block_of_a_parameter_is_kept_in_every_style() -> None:
    for function in (google, numpy, rest):
        description, about = read_docstring(function)
        assert description.startswith("Scan a file.\n\nIt may take long.")
        assert about == {"mode": f"One of:\n{MODES}", "path": "Where: a path."}


def test_what_a_function_returns_is_part_of_the_description() -> None:
    description, _ = read_docstring(google)
    assert description.endswith("\n\nReturns: The findings,\nsorted.")


def test_what_no_style_explains_is_description_in_full() -> None:
    assert read_docstring(unfinished) == ("Scan a file.\n\nArgs:\n    whatever you like", {})
    assert read_docstring(unusual) == ("Scan a file.\n\nModes\n  fast, deep", {})


def test_a_function_without_docstring_has_no_description() -> None:
    assert read_docstring(bare) == ("", {})
