"""Training time of the default at each effort, relative to one wide head: python benchmarks/effort.py

ICD-10-CM, chapters 9, 10, 11 and 13, as 256 dense features (about 10,000 training samples, 221 classes). The unit is
what the default was before it was a committee: `path-softmax` of width 512 for 15 epochs. Prints CPU seconds, which
other jobs hardly change, their quotient, top-1 on validation, and what each default chose.
"""

import argparse
from dataclasses import replace
from time import process_time

import torch

from hiercos.data import load_dataset
from hiercos.encoders import launched
from hiercos.model import evaluate
from hiercos.training import Settings, features_of, fit

PATIENT = {"patience": 4, "max_epochs": 100}


def main() -> None:
    """Print a line for the unit and one for each effort."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--efforts", default="quick,normal")
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    dense = features_of(load_dataset("icd10cm:9,10,11,13")).for_method(Settings("path-softmax"))
    data = replace(dense, projection=None)  # vectors of unknown origin
    fabric, unit = launched("cpu"), 0.0
    configs = {"path-softmax": Settings("path-softmax", {"width": 512, "dropout": 0.1}, epochs=15)}
    for effort in asked.efforts.split(","):
        configs[f"committee, {effort}"] = Settings("committee", {"effort": effort, "width": 512}, **PATIENT)
    for name, config in configs.items():
        model = data.model(config)
        start = process_time()
        progress = fit(fabric, model, data.training_samples(config), data.samples("val"), config)
        seconds = process_time() - start
        unit = unit or seconds
        found = evaluate(fabric, model, data.samples("val"))
        top1 = f"top-1 {100 * found['top1']:.2f}%"
        print(f"{name:18} {seconds:7.1f} s  {seconds / unit:5.1f}  {top1}  {progress.choice}", flush=True)


if __name__ == "__main__":
    main()
