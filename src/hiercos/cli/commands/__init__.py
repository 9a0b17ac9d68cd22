"""One module per subcommand of `hiercos`."""
