"""Numbers of a running fleet for those who keep and draw them: what is counted, by what, and where it goes."""
