"""Fleet files: agents, presets and tasks as YAML, read as a whole or refused with every problem and its place."""
