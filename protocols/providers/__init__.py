"""Wire formats of model providers: pure mappings, and the one sender."""
