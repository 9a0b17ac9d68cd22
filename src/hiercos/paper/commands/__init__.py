"""The commands of the paper: `hiercos reproduce` and `hiercos ablate`."""
