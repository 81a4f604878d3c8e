"""What one agent does and what a user touches; knows ports, never Ray."""
