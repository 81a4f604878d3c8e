"""Where records outlive the processes that made them: in memory for tests, in SQLite, in PostgreSQL."""
