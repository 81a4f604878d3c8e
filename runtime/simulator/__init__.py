"""The strict provider simulator: an HTTP server that speaks a provider's wire format and enforces its rules."""
