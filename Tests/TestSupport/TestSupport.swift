// The test support: it comes with the commits that follow.
