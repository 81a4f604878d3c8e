"""Mailbox and outbox: the two ends of a channel, without I/O."""
