"""A process that embeds squares of colour, slowly: python embed_squares.py COUNT BATCH_SIZE SECONDS_A_BATCH"""

import sys
import time

from lightning_fabric import Fabric

from colours import colour_images, small_backbone
from hiercos.encoders import ReadConfig, embed


class Slow:
    """A callback that takes its time."""

    def start(self, done: int, total: int) -> None:
        pass

    def rows(self, done: int) -> None:
        time.sleep(float(sys.argv[3]))

    def close(self) -> None:
        pass


if __name__ == "__main__":
    fabric = Fabric(accelerator="cpu", devices=1)
    fabric.launch()
    config = ReadConfig(fabric, batch_size=int(sys.argv[2]), callback=Slow())
    embed(config, small_backbone(), colour_images(int(sys.argv[1])))
