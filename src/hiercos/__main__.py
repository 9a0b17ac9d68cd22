"""`python -m hiercos` is the command `hiercos`."""

from hiercos.cli import main

main()
