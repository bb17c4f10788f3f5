// The View target: its first files come with the commits that follow.
