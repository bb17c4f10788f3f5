// PropertyListsTests: the first tests come with the commits that follow.
