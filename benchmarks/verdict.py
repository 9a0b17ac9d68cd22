"""What the choice of the verdict costs on simulated comparisons with known truth, and what it ships on stored records.

python benchmarks/verdict.py            # both tables of docs/notes/training.md as Markdown; some minutes
python benchmarks/verdict.py --records  # only what is shipped on the records in benchmarks/results
"""

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import NormalDist

import numpy as np
from scipy import stats
from tables import DIGITS, RESULTS, Stored, read_table

from hiercos.metrics import metric_spec
from hiercos.records import Record
from hiercos.report import Evidence, Variant, recommend, summarize
from hiercos.taxonomy import FloatArray

COLUMNS = ("ahd_at_1", "top1", "hops", "log_loss")  # in the order in which the earlier rule compared
HEIGHT, METHODS = 3, 4  # height of the simulated tree; simulated methods, every second one with the tree
ROW, OWN, SEED = 1.0, 0.5, 0.3  # deviations of a margin: of the row, of the method on it, of the seed on it
TRIALS = 100
HALVES = 10  # draws of a half of the rows
SIZES = ((60, 200, 3), (600, 1200, 1), (600, 1200, 3), (2000, 2000, 5))  # validation rows, test rows, seeds
Table = dict[str, dict[str, FloatArray]]  # values (S, M) by variant and metric


@dataclass(frozen=True)
class Simulated:
    """A simulated comparison.

    Attributes:
        truth: tree distance to expect of one model, by variant.
        val: values on validation rows.
        test: values on test rows.
    """

    truth: dict[str, float]
    val: Table
    test: Table


def simulated(sizes: tuple[int, int, int], generator: np.random.Generator, *, wild: bool) -> Simulated:
    """A comparison of methods, each without a rule and under crm; `wild` makes one vary by seed, and worse."""
    val, test, seeds = sizes
    skill, spread = generator.normal(0.4, 0.1, METHODS), generator.choice([0.0, 0.03], METHODS)
    if wild:
        worst = generator.integers(METHODS)
        skill[worst], spread[worst] = skill.min() - 0.15, 0.3
    sharpness, far = np.exp(generator.normal(0.5, 0.3, METHODS)), generator.uniform(0.3, 0.5, METHODS)
    gifts = skill[:, None] + spread[:, None] * generator.normal(size=(METHODS, seeds))
    truth: dict[str, float] = {}
    tables: list[Table] = [{}, {}]
    for table, rows in zip(tables, (val, test), strict=True):
        common, heights = generator.normal(0, ROW, rows), generator.random((HEIGHT - 1, rows))
        for method in range(METHODS):
            own = gifts[method][:, None] + common + generator.normal(0, OWN, rows)
            margin = own + generator.normal(0, SEED, (seeds, rows))
            deviation = math.sqrt(ROW**2 + OWN**2 + SEED**2 + spread[method] ** 2)
            for rule, lost, nearer in (("", 0.0, 0.0), (" + crm", 0.02, 0.04)):
                share = far[method] - nearer
                distance = (margin < lost) * (1 + (heights < share).sum(axis=0))
                order = (0.9 if rule else 0.5 + 0.2 * (method % 2)) - 0.1 * distance
                loss = np.logaddexp(0, -sharpness[method] * margin)
                values = (distance.astype(float), (distance == 0).astype(float), order, loss)
                table[f"m{method}{rule}"] = dict(zip(COLUMNS, values, strict=True))
                chance = NormalDist().cdf((lost - skill[method]) / deviation)
                truth[f"m{method}{rule}"] = chance * (1 + (HEIGHT - 1) * share)
    return Simulated(truth, *tables)


def variants_of(table: Table) -> list[Variant]:
    """Variants with the means of a table as their metrics."""
    tree = {"fingerprint": "", "largest_distance": HEIGHT}
    records = []
    for name, values in table.items():
        method, _, rule = name.partition(" + ")
        for seed, means in enumerate(zip(*(values[key].mean(axis=1) for key in COLUMNS), strict=True)):
            metrics = dict(zip(COLUMNS, map(float, means), strict=True))
            uses_tree = complexity(method) != (0, False)
            records.append(Record(method, uses_tree, rule or "none", seed, {}, {}, tree, metrics, [], 0, 0.0, {}))
    return summarize(records)


def complexity(name: str) -> tuple[int, bool]:
    """Sort key of a simulated variant: without tree and rule, with a rule, with the tree, with both."""
    uses_tree = int(name[1]) % 2 == 1
    return uses_tree + name.endswith("crm"), uses_tree


def low_end(values: FloatArray, quantile: float) -> float:
    """Lower end of the interval of a mean."""
    return float(values.mean() - quantile * values.std(ddof=1) / math.sqrt(len(values)))


def is_significant(ours: dict[str, FloatArray], theirs: dict[str, FloatArray], name: str) -> bool:
    """Whether a gain is significant over the rows and, from three seeds on, over the seeds: the earlier rule."""
    gap = -sign(name) * (ours[name] - theirs[name])
    few = len(gap) < 3
    over_rows = low_end(gap.mean(axis=0), 1.96) > 0
    return over_rows and (few or low_end(gap.mean(axis=1), float(stats.t.ppf(0.975, len(gap) - 1))) > 0)


def sign(name: str) -> int:
    """Factor that makes lower values of a metric better."""
    return -1 if metric_spec(name).higher_is_better else 1


def earlier_rule(table: Table) -> str:
    """Elimination by significant differences in four metrics in turn, then the simplest of what is left."""
    left = list(table)
    for name in COLUMNS:
        left = [each for each in left if not any(is_significant(table[other], table[each], name) for other in left)]
    return min(left, key=lambda each: (*complexity(each), table[each]["ahd_at_1"].mean()))


def best_mean(table: Table) -> str:
    """The variant with the smallest mean tree distance."""
    return min(table, key=lambda each: table[each]["ahd_at_1"].mean())


def verdict(deciding: Table, variants: list[Variant], purpose: str = "distance") -> str:
    """What the verdict ships."""
    evidence = Evidence(lambda name, metric: deciding[name][metric], "rows")
    found = recommend(variants, evidence, lambda *_: (0.0, 0.0, 0.0), tests=1, purpose=purpose)
    return found.variant.name


def is_worse_everywhere(name: str, table: Table) -> bool:
    """Whether a variant is worse than another in every column."""
    means = {other: [sign(key) * values[key].mean() for key in COLUMNS] for other, values in table.items()}
    return any(all(ours > theirs for ours, theirs in zip(means[name], other, strict=True)) for other in means.values())


RULES: dict[str, Callable[[Simulated], str]] = {
    "earlier rule, test rows": lambda case: earlier_rule(case.test),
    "best mean, test rows": lambda case: best_mean(case.test),
    "best mean, validation rows": lambda case: best_mean(case.val),
    "verdict, test rows": lambda case: verdict(case.test, variants_of(case.test)),
    "verdict, validation rows": lambda case: verdict(case.val, variants_of(case.test)),
}


def simulation() -> None:
    """Print the table of regrets."""
    print("| validation rows, test rows, seeds | rule | regret | 95% of regrets below | worse everywhere | optimism |")
    print("|---|---|---|---|---|---|")
    for wild in (False, True):
        for sizes in SIZES:
            generator, found = np.random.default_rng(0), {name: [] for name in RULES}
            for _ in range(TRIALS):
                case = simulated(sizes, generator, wild=wild)
                for name, rule in RULES.items():
                    shipped = rule(case)
                    optimism = case.truth[shipped] - case.test[shipped]["ahd_at_1"].mean()
                    regret = case.truth[shipped] - min(case.truth.values())
                    found[name].append((regret, is_worse_everywhere(shipped, case.test), optimism))
            for name, values in found.items():
                regret, worse, optimism = np.array(values, dtype=float).T
                title = ", ".join(map(str, sizes)) + ", one wild" * wild
                figures = f"{regret.mean():.4f} | {np.quantile(regret, 0.95):.3f} | {worse.mean():.0%}"
                print(f"| {title} | {name} | {figures} | {optimism.mean():+.4f} |", flush=True)


def record_values(stored: list[Stored]) -> Table:
    """Values of the variants of records: rows of the distances where they are stored, else means of the seeds."""
    table: Table = {}
    for name in dict.fromkeys(each.record.name for each in stored):
        own = sorted((each for each in stored if each.record.name == name), key=lambda each: each.record.seed)
        table[name] = {key: np.array([[each.record.metrics[key]] for each in own]) for key in COLUMNS}
        if all(each.distances for each in own):
            rows = np.array([[DIGITS.index(digit) for digit in each.distances] for each in own], dtype=float)
            table[name] |= {"ahd_at_1": rows, "top1": (rows == 0).astype(float)}
    return table


def half_regrets(table: Table, variants: list[Variant]) -> str:
    """Regrets in tree distance of the verdict and of the best mean, if one half of the rows decides for the other."""
    count, found = next(iter(table.values()))["ahd_at_1"].shape[1], []
    for seed in range(HALVES if count > 1 else 0):
        rows = np.random.default_rng(seed).permutation(count)
        mine, others = rows[: count // 2], rows[count // 2 :]
        deciding = {
            name: {key: each[:, mine] if each.shape[1] == count else each for key, each in own.items()}
            for name, own in table.items()
        }
        truth = {name: own["ahd_at_1"][:, others].mean() for name, own in table.items()}
        found.append([truth[each] - min(truth.values()) for each in (verdict(deciding, variants), best_mean(deciding))])
    return " | ".join(f"{regret:.4f}" for regret in np.mean(found, axis=0)) if found else "- | -"


def shipped_of_records() -> None:
    """Print what is shipped on the stored records, which are of test rows."""
    columns = ("records", "seeds", "variants", "shipped", "for top1", "for hops", "best mean tree distance")
    print(f"| {' | '.join((*columns, 'regret', 'of the best mean'))} |")
    print("|---|---|---|---|---|---|---|---|---|")
    for path in sorted(RESULTS.glob("*.jsonl")):
        stored = read_table(path)
        variants, table = summarize(each.record for each in stored), record_values(stored)
        choose = partial(verdict, table, variants)
        chosen = " | ".join(choose(purpose) for purpose in ("distance", "top1", "hops"))
        seeds = len({each.record.seed for each in stored})
        regrets = half_regrets(table, variants)
        print(f"| {path.stem} | {seeds} | {len(variants)} | {chosen} | {best_mean(table)} | {regrets} |")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", action="store_true", help="only what is shipped on the stored records")
    if not parser.parse_args().records:
        simulation()
    shipped_of_records()


if __name__ == "__main__":
    main()
