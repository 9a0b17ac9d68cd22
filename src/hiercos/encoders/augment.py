"""Names of the augmentations of images, which settings name without importing torch."""

from typing import Literal

Augment = Literal["none", "pad-crop", "resized-crop"]
Border = Literal["reflect", "zero"]
