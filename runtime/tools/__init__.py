"""Tools: functions an agent may call."""
