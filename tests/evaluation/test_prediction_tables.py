"""Tables as pybioclip 1 and 2 write them: `bioclip predict`, `--rank`, `--cls`; and as we write them."""

from pathlib import Path

import pytest

from hiercos.data.readers.table import column_names
from hiercos.errors import DataError
from hiercos.evaluation.image_predictions import is_prediction_table, read_prediction_table

BIOCLIP = """\
file_name,kingdom,phylum,class,order,family,genus,species_epithet,species,common_name,score
bear.jpg,Animalia,Chordata,Mammalia,Carnivora,Ursidae,Ursus,arctos,Ursus arctos,Kodiak bear,0.93
bear.jpg,Animalia,Chordata,Mammalia,Carnivora,Ursidae,Ursus,arctos syriacus,Ursus arctos syriacus,,0.05
cat.jpg,Animalia,Chordata,Mammalia,Carnivora,Felidae,Felis,catus,Felis catus,Domestic Cat,0.19
cat.jpg,Animalia,Chordata,Mammalia,Carnivora,Felidae,Felis,silvestris,Felis silvestris,European Wildcat,0.72
"""


def found(folder: Path, text: str, name: str = "p.csv") -> list[tuple[str, list[tuple[str, ...]]]]:
    (folder / name).write_text(text, encoding="utf-8")
    images = read_prediction_table(folder / name, column_names(folder / name))
    return [(image.image, [prediction.names for prediction in image.predictions]) for image in images]


def test_answers_are_grouped_by_image_best_first_with_every_name_they_have(tmp_path: Path) -> None:
    images = dict(found(tmp_path, BIOCLIP))
    carnivores = "Animalia > Chordata > Mammalia > Carnivora"
    assert list(images) == ["bear.jpg", "cat.jpg"]
    assert images["bear.jpg"][0] == (
        f"{carnivores} > Ursidae > Ursus > Ursus arctos",
        f"{carnivores} > Ursidae > Ursus > arctos",
        "Ursus arctos",
        "Kodiak bear",
    )
    assert [names[2] for names in images["cat.jpg"]] == ["Felis silvestris", "Felis catus"]


def test_answers_of_a_higher_rank_and_of_own_classes_are_read(tmp_path: Path) -> None:
    ranks = "file_name,kingdom,genus,score\na.jpg,Animalia,Ursus,0.9\na.jpg,Animalia,Alces,8e-05\n"
    assert found(tmp_path, ranks) == [("a.jpg", [("Animalia > Ursus", "Ursus"), ("Animalia > Alces", "Alces")])]
    own = "file_name,classification,score\na.jpg,bear,0.1\na.jpg,cat,0.9\n"
    assert found(tmp_path, own) == [("a.jpg", [("cat", "cat"), ("bear", "bear")])]


def test_our_own_table_is_read_by_its_numbered_levels(tmp_path: Path) -> None:
    ours = "row,image,rank,level_1,level_2,class,id,score\n1,a.jpg,1,pet,cat,cat,c1,0.7\n1,a.jpg,2,plant,,plant,,0.2\n"
    assert found(tmp_path, ours) == [("a.jpg", [("c1", "pet > cat", "cat"), ("plant", "plant")])]


def test_our_own_table_is_read_by_its_named_levels(tmp_path: Path) -> None:
    ours = "row,image,rank,class_1,species,class,id,score,confidence\n1,a.jpg,1,pet,cat,cat,c1,0.7,0.7\n"
    assert found(tmp_path, ours) == [("a.jpg", [("c1", "pet > cat", "cat")])]


def test_our_own_table_may_have_columns_of_the_input_and_answers_that_cannot_say(tmp_path: Path) -> None:
    ours = "row,shop,image,species,class,score,confidence\n1,x,a.jpg,cat,cat,0.7,0.7\n2,y,b.jpg,,,,\n"
    assert found(tmp_path, ours) == [("a.jpg", [("cat", "cat")]), ("b.jpg", [()])]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["file_name", "species", "score"], True),
        (["image", "class", "score"], True),
        (["label", "image", "score"], False),
        (["species", "score"], False),
        (["file_name", "species"], False),
    ],
)
def test_such_a_table_is_known_by_its_columns(names: list[str], expected: bool) -> None:
    assert is_prediction_table(names) == expected


def test_every_fault_is_said_with_its_row(tmp_path: Path) -> None:
    with pytest.raises(DataError) as error:
        found(tmp_path, "file_name,species,score\n,cat,0.5\na.jpg,cat,high\na.jpg,dog,nan\n")
    path = tmp_path / "p.csv"
    assert error.value.faults == (
        f"{path}: row 2: expected the path of an image in 'file_name', got nothing",
        f"{path}: row 3: expected a number as score, got 'high'",
        f"{path}: row 4: expected a number as score, got 'nan'",
    )
    with pytest.raises(DataError, match="expected a column for each level of a prediction, got only file_name, score"):
        found(tmp_path, "file_name,score\na.jpg,0.5\n")


def test_other_kinds_of_tables_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"p\.parquet: expected predictions by image in \.csv or \.tsv"):
        read_prediction_table(tmp_path / "p.parquet", ["file_name", "species", "score"])
