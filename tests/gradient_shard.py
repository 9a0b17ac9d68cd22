"""One of several processes: the gradients of a head under DistributedDataParallel, from a shard of the samples.

Run as `gradient_shard.py FOLDER RANK WORLD_SIZE`; FOLDER has tree.json, head.safetensors and samples-RANK.safetensors
(features, labels). It leaves gradients-RANK.safetensors, and imports nothing from the tests.
"""

import os
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch.nn.parallel import DistributedDataParallel

from hiercos import HierCOSHead, HierCOSLoss, Taxonomy


def main(folder: Path, rank: int, world_size: int) -> None:
    """One backward pass; statistics of batches stay as they are, since every process has its own."""
    torch.set_num_threads(1)
    meeting = f"file://{(folder / 'meeting').resolve()}"
    torch.distributed.init_process_group("gloo", init_method=meeting, rank=rank, world_size=world_size)
    taxonomy, samples = Taxonomy.read(folder / "tree.json"), load_file(folder / f"samples-{rank}.safetensors")
    head = HierCOSHead(samples["features"].shape[1], taxonomy)
    if rank == 0:  # the others get these weights from it
        head.load_state_dict(load_file(folder / "head.safetensors"))
    wrapped = DistributedDataParallel(head.eval())
    HierCOSLoss(taxonomy, grouping="sample")(wrapped(samples["features"]), samples["labels"]).backward()
    gradients = {name: weight.grad for name, weight in head.named_parameters() if weight.grad is not None}
    save_file(gradients, folder / f"gradients-{rank}.safetensors")
    torch.distributed.barrier()  # nobody leaves while another one still needs it
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
    os._exit(0)  # threads of gloo that still run at a regular end can abort the process
