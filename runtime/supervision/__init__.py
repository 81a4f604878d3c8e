"""The policy of the Supervisor, without I/O, and the plain class around it."""
