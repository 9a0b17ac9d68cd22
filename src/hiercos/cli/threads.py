"""OpenMP settings of the command, set before torch loads its OpenMP library."""

from collections.abc import MutableMapping

# GNU OpenMP, part of torch's wheels for Linux, waits for the other threads of a loop by spinning, 300,000 times by
# default. If another job uses the core that the last thread needs, this time is lost in every loop.
SPIN_VARIABLE, SPINS = "GOMP_SPINCOUNT", "10000"
WAIT_VARIABLES = (SPIN_VARIABLE, "OMP_WAIT_POLICY")  # if the user sets one of them, it is left unchanged


def limit_spinning(environment: MutableMapping[str, str]) -> None:
    """Let threads of GNU OpenMP sleep after a short spin, unless the user's environment sets a wait policy.

    It takes effect only before torch is imported, and in processes started from then on.

    Args:
        environment: environment variables of this process; changed in place.

    Example:
        >>> variables = {}
        >>> limit_spinning(variables)
        >>> variables
        {'GOMP_SPINCOUNT': '10000'}
    """
    if not any(name in environment for name in WAIT_VARIABLES):
        environment[SPIN_VARIABLE] = SPINS
