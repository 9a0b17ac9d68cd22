"""One of several processes: count a shard of the samples and write what the suite computes over all of them.

Run as `count_shard.py FOLDER RANK WORLD_SIZE`; FOLDER has tree.npz (names, parents, leaves), and samples-RANK.npz
(scores, labels, node_scores). It imports nothing from the tests.
"""

import json
import os
import sys
from pathlib import Path

import numpy as np
import torch

from hiercos import Taxonomy
from hiercos.metrics import default_suite


def main(folder: Path, rank: int, world_size: int) -> None:
    """Count the shard seven samples at a time."""
    torch.set_num_threads(1)
    meeting = f"file://{(folder / 'meeting').resolve()}"
    torch.distributed.init_process_group("gloo", init_method=meeting, rank=rank, world_size=world_size)
    with np.load(folder / "tree.npz", allow_pickle=False) as tree:
        taxonomy = Taxonomy(tuple(tree["names"].tolist()), tree["parents"], tree["leaves"])
    suite = default_suite(taxonomy)
    with np.load(folder / f"samples-{rank}.npz", allow_pickle=False) as samples:
        shard = [torch.tensor(samples[name]) for name in ("scores", "labels", "node_scores")]
    for batch in zip(*(part.split(7) for part in shard), strict=True):
        suite.update(*batch)
    result = {name: value.item() for name, value in suite.compute().items()}
    (folder / f"result-{rank}.json").write_text(json.dumps(result), encoding="utf-8")
    torch.distributed.barrier()  # nobody leaves while another one still needs it
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
    os._exit(0)  # threads of gloo that still run at a regular end can abort the process
