"""A real job for a fleet: the census of a folder."""
