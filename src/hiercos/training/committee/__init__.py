"""Training of committees: members that suit the data, one after the other, and their weights."""
