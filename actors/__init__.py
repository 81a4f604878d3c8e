"""Where agents are Ray actors. No other package imports Ray."""

from .environment import prepare

prepare()
