"""What is said: messages, mail, check-ins, notices, their bytes, and the providers' wire formats."""
