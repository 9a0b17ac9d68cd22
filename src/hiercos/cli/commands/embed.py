"""`hiercos embed`: compute features of images or texts."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hiercos.cli.options import common as options
from hiercos.cli.options.backbones import BackboneOptions
from hiercos.cli.options.groups import DataOptions, DeviceOptions, OptionError, grouped, say
from hiercos.cli.options.training import SettingOptions
from hiercos.encoders import includes_tfidf

if TYPE_CHECKING:
    from hiercos.data import Dataset


@grouped
def embed(
    *,
    data: options.Data,
    output: Annotated[Path, typer.Option("--output", "-o", help="Output file, an .npz.")],
    inputs: BackboneOptions,
    columns: DataOptions,
    device_options: DeviceOptions,
    training: SettingOptions,
    batch_size: options.BatchSize = None,
) -> None:
    """Compute the features of images or texts with a frozen backbone, for train and compare.

    Features are streamed into a cache (`features` in the folder HIERCOS_CACHE, else in ~/.cache/hiercos): after an
    interruption the same command resumes, and cached features are not computed again. The output file holds
    features, labels, splits and the taxonomy.
    """
    if output.suffix.lower() != ".npz":
        raise OptionError(f"--output {output}: expected a file that ends in .npz")
    options.check_target("--output", output)
    inputs.check_name()
    dataset = columns.read(data)
    from hiercos.training import encoder_name

    name = None if dataset.kind == "vectors" else encoder_name(dataset, inputs.backbone)
    if name is None or includes_tfidf(name):
        raise OptionError(_backbone_fault(dataset))
    from hiercos.encoders import embed_dataset, frozen_encoder, write_features

    backbone = frozen_encoder(name, training.backbone).backbone
    config = device_options.read_config(batch_size, inputs.workers, kind=dataset.kind, doing="embedding")
    embedded = embed_dataset(config, backbone, dataset)
    write_features(output, embedded.path, dataset, backbone.identity())
    if not embedded.computed:
        say(f"All features were in the cache ({embedded.path}).")
    say(f"Wrote {output}: {len(dataset):,} {dataset.kind}, {backbone.num_features} features each.")


def _backbone_fault(dataset: "Dataset") -> str:
    if dataset.kind == "vectors":
        return f"{dataset.source}: expected images or texts, got vectors"
    return "expected --backbone NAME, such as minilm; TF-IDF is part of a model and fitted by train and compare"
