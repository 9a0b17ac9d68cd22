from hiercos import TaxonomyError
from hiercos.errors import DataError, FaultsError, listed, suggestion


def test_a_message_shows_twenty_faults_and_counts_the_rest() -> None:
    error = DataError(f"fault {number}" for number in range(25))
    assert len(error.faults) == 25
    assert str(error).splitlines()[19:] == ["fault 19", "and 5 more faults"]


def test_errors_of_taxonomies_and_of_data_are_caught_together() -> None:
    assert issubclass(TaxonomyError, FaultsError)
    assert issubclass(DataError, FaultsError)
    assert issubclass(FaultsError, ValueError)


def test_where_no_name_is_near_the_first_twenty_are_listed() -> None:
    assert suggestion("zzz", [f"a{number}" for number in range(30)]).endswith("a18, a19, …")
    assert suggestion("zzz", []) == "; there are none"


def test_names_beyond_the_listed_ones_are_not_computed() -> None:
    computed: list[str] = []
    names = (computed.append(name) or name for name in "abcdef")
    assert listed(names, 2, "; ") == "a; b; …"
    assert computed == ["a", "b", "c"]
    assert listed(iter("ab"), 2) == "a, b"
    assert listed([], 2) == ""
