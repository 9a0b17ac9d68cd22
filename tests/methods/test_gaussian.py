"""The Gaussian head."""

import numpy as np
import torch
from scipy.stats import multivariate_normal
from sklearn.covariance import ledoit_wolf

from solving import data, solved
from trees import TOY


def test_the_gaussian_head_is_the_posterior_of_gaussians_with_one_covariance() -> None:
    train, test = data(TOY, 300), data(TOY, 50, seed=1)
    model, _ = solved("gaussian", TOY, train, None)
    mean, scale = model.standardize.mean.numpy(), model.standardize.scale.numpy()
    learned, asked = (train.features - mean) / scale, (test.features - mean) / scale
    means = np.stack([learned[train.labels == label].mean(axis=0) for label in range(3)])
    covariance, _ = ledoit_wolf(learned - means[train.labels], assume_centered=True)
    logs = np.stack(
        [
            multivariate_normal(means[label], covariance).logpdf(asked) + np.log((train.labels == label).mean())
            for label in range(3)
        ],
        axis=1,
    )
    found = torch.as_tensor(model.array_scores(test.features)).softmax(dim=1).numpy()
    np.testing.assert_allclose(found, torch.as_tensor(logs).softmax(dim=1).numpy(), atol=1e-4)
