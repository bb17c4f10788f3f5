// The Launch target: its first files come with the commits that follow.
