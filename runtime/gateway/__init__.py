"""A fleet over HTTP: a JSON API and its notices as server-sent events, for dashboards."""
