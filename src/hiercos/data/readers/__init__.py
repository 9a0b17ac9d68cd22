"""Readers of labelled data and of inputs: tables, vectors, folders of images, Hugging Face data sets."""
