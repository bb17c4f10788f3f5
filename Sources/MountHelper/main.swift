// The entry point: it comes with the commits that follow.
