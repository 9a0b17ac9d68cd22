from hiercos import TaxonomyError
from hiercos.data import DataError
from hiercos.errors import FaultsError


def test_a_message_shows_twenty_faults_and_counts_the_rest() -> None:
    error = DataError(f"fault {number}" for number in range(25))
    assert len(error.faults) == 25
    assert str(error).splitlines()[19:] == ["fault 19", "and 5 more faults"]


def test_errors_of_taxonomies_and_of_data_are_caught_together() -> None:
    assert issubclass(TaxonomyError, FaultsError)
    assert issubclass(DataError, FaultsError)
    assert issubclass(FaultsError, ValueError)
