"""Lines about the epochs of a training on standard error."""

import math
import sys

from hiercos.training import RunProgress, Settings


class EpochLines:
    """Progress callback that prints a line per epoch to standard error, with the name of the part or member."""

    def batch(self, epoch: int, done: int, total: int) -> None:
        """Ignore single batches."""

    def epoch(self, progress: RunProgress, config: Settings) -> None:
        """Print the loss, and top-1 if samples were held out."""
        last = progress.history[-1]
        top1 = "" if math.isnan(last.top1) else f", top-1 {last.top1:.4f} on validation"
        member = f"{progress.member}: " * bool(progress.member)
        sys.stderr.write(f"{member}epoch {last.number}/{config.most_epochs}: loss {last.loss:.4f}{top1}\n")

    def close(self) -> None:
        """Do nothing."""
