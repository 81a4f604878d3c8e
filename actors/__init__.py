"""Where Ray lives: the actors of a fleet and the system that starts them."""
