"""OpenMP settings of the command, made before torch loads its OpenMP library."""

from collections.abc import MutableMapping

# GNU OpenMP, which torch's wheels for Linux carry, waits for the other threads of a loop by spinning, 300,000 times by
# default. Where another job has the core that the last thread needs, all of that time is lost, at every loop.
SPIN_VARIABLE, SPINS = "GOMP_SPINCOUNT", "1000"
WAIT_VARIABLES = (SPIN_VARIABLE, "OMP_WAIT_POLICY")  # one of the user's own says how threads wait


def limit_spinning(environment: MutableMapping[str, str]) -> None:
    """Let threads of GNU OpenMP wait asleep after a short spin, unless the user's environment says how they wait.

    It takes effect only before torch is imported, and in processes started from then on.

    Args:
        environment: variables of this process; changed in place.

    Example:
        >>> variables = {}
        >>> limit_spinning(variables)
        >>> variables
        {'GOMP_SPINCOUNT': '1000'}
    """
    if not any(name in environment for name in WAIT_VARIABLES):
        environment[SPIN_VARIABLE] = SPINS
