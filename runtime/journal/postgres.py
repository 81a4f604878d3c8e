"""A PostgreSQL database as the journal's."""

from sqlalchemy import URL, Connection, create_engine, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from ..journal_errors import JournalInvalid, JournalUnavailable

__all__ = ("PostgresDatabase",)

CONNECTION = {
    "application_name": "amrita-fleet",
    "connect_timeout": "5",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
}
"""How libpq connects, unless the URL says otherwise: a server that vanished is noticed within seconds."""

SESSION = text(
    # A process that stands still inside a transaction (Ray's node was cut off, or stopped) may not keep the newer life
    # from its stream: before others are tired of waiting, it loses its locks and what it began.
    "SELECT set_config('idle_in_transaction_session_timeout', '4s', false), set_config('lock_timeout', '8s', false),"
    # Where commits return before they are on the disk, what was acknowledged could be lost.
    " CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', false) END,"
    # Two who find an empty database at once would both make its tables. The number is ours alone: `amrita` in ASCII.
    " pg_advisory_xact_lock(107122698843233),"
    # As long as the session lasts, others can see that somebody has this journal open: see `in_use`.
    " pg_advisory_lock_shared(1634562665, hashtext(current_schema()))"
)

ALONE = text("SELECT pg_try_advisory_lock(1634562665, hashtext(current_schema()))")
"""Only while nobody holds the lock of `SESSION`, which another schema has not in common with this one."""

REFUSALS = ("password", "authentication", "does not exist", "pg_hba.conf", "permission denied")
"""Words by which a server's refusal of a connection is known; libpq gives no code for it."""

HOPELESS = ("28", "3D", "3F", "42")
"""Classes of SQLSTATE that trying again does not help: access, unknown database or schema, rights and tables."""


class PostgresDatabase:
    """One database on a server, or what `search_path` makes of it. Wants `psycopg`, the extra `postgres`.

    Attributes:
        where: Its address, without user, password and options.
        missing: It is no file.
    """

    missing = False

    def __init__(self, url: URL) -> None:
        """Name the database; nothing is opened yet.

        Raises:
            JournalInvalid: There can be no such address, or `psycopg` is not installed.
        """
        self.where = URL.create("postgresql", host=url.host, port=url.port, database=url.database).render_as_string()
        self._secrets = tuple(str(each) for each in (url.password, url.query.get("password")) if each)
        if "@" in (url.host or ""):
            reason = "an @ in its user or password is written %40"
            raise JournalInvalid(where="This PostgreSQL address", reason=reason)
        full = url.set(drivername="postgresql+psycopg", query={**CONNECTION, **url.query})
        try:
            self._engine = create_engine(full, poolclass=NullPool, isolation_level="READ COMMITTED")
        except ModuleNotFoundError:
            reason = "PostgreSQL needs psycopg: pip install 'amrita-fleet[postgres]'"
            raise JournalInvalid(where=self.where, reason=reason) from None

    def connect(self, *, create: bool) -> Connection:  # noqa: ARG002 - databases are made by who runs the server
        """Connect to the server."""
        return self._engine.connect()

    def check(self) -> None:
        """Nothing: a connection that is cut says so."""

    def prepare(self, connection: Connection) -> None:
        """Set up the session, and wait for others who make tables until the transaction ends."""
        connection.execute(SESSION)

    def in_use(self) -> bool:
        """Whether another session has the journal open. One whose process was killed ends at once."""
        with self.connect(create=False) as connection:
            return not connection.execute(ALONE).scalar_one()

    def trouble(self, error: DBAPIError) -> JournalInvalid | JournalUnavailable:
        """What an error of PostgreSQL's, or of the way there, means for us."""
        code: str = getattr(error.orig, "sqlstate", None) or ""
        reason = " ".join(str(error.orig).split())
        for secret in self._secrets:
            reason = reason.replace(secret, "***")
        if code[:2] in HOPELESS or (not code and any(word in reason for word in REFUSALS)):
            return JournalInvalid(where=self.where, reason=reason)
        return JournalUnavailable(where=self.where, reason=reason)
