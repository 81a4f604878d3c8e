"""A fleet's pages for a browser: its agents, one agent, messages, budgets, and alerts. They stand on the gateway."""
