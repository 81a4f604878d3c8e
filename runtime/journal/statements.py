"""Statements that every message waits for, given to the driver itself: SQLAlchemy writes them once, for each database.

What SQLAlchemy does around each execution, for results and types that we do not have, takes longer than SQLite does.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from sqlalchemy import ClauseElement, Connection, Dialect
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.compiler import SQLCompiler

__all__ = ("executed",)


def executed(connection: Connection, statement: ClauseElement, *rows: Mapping[str, Any]) -> Sequence[Sequence[Any]]:
    """Execute a statement, once for each row of parameters, and give the rows that it finds.

    Args:
        connection: In a transaction.
        statement: One that is made once: what the driver gets is kept for good. Its parameters and results are of types
            that the driver takes and gives as they are: texts, bytes and numbers.
        rows: At least one.

    Raises:
        DBAPIError: The database refuses it.
    """
    text, names = written(statement, connection.dialect)
    given: list[Any] = [row if names is None else tuple([row[name] for name in names]) for row in rows]
    cursor = connection.connection.cursor()
    try:
        if given[1:]:
            cursor.executemany(text, given)
        else:
            cursor.execute(text, given[0])
        return cursor.fetchall() if cursor.description else ()
    except connection.dialect.loaded_dbapi.Error as error:
        raise DBAPIError(text, None, error) from error
    finally:
        cursor.close()


Written = tuple[str, tuple[str, ...] | None]
"""A statement in a database's own words, and the names of its parameters in order; None: it knows the names."""

KNOWN: dict[tuple[ClauseElement, str], Written] = {}


def written(statement: ClauseElement, dialect: Dialect) -> Written:
    """The statement for such a database, written once however many of them are opened."""
    key = statement, dialect.name
    if key not in KNOWN:
        compiled = cast("SQLCompiler", statement.compile(dialect=dialect))
        names = compiled.positiontup
        KNOWN[key] = str(compiled), None if names is None else tuple(names)
    return KNOWN[key]
