"""The pure core: one agent's Step loop as a function of state and event."""
