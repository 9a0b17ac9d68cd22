"""Collections of images: decoding, faults, and access on demand."""
