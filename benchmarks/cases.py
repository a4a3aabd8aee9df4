"""The four cases of the speed benchmark: streams with separable covariance whose per-mode spectra decay exponentially.

97 % of each mode's variation is kept at the rank; 0.5 % white noise and a smooth mean are added.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np


@dataclass(frozen=True)
class Case:
    name: str
    n_assets: int
    shape: tuple[int, ...]
    ranks: tuple[int, ...]
    flops: float
    """Of centring, Grams and 5 sweeps; symmetric Grams counted once, passes over the streams shared between modes."""
    dtype: str = "float64"

    @property
    def n_bytes(self) -> int:
        return self.n_assets * prod(self.shape) * np.dtype(self.dtype).itemsize

    def streams(self, seed: int = 0) -> np.ndarray:
        """(asset, mode 0, ..., mode N-1), made asset by asset so that making it takes little more than holding it."""
        rng = np.random.default_rng(seed)
        bases = [np.linalg.qr(rng.normal(size=(length, length)))[0] for length in self.shape]
        decays = [np.log(1 / 0.03) / (2 * rank) for rank in self.ranks]  # of variance, 3 % is left after the rank
        scales = [np.exp(-decay * np.arange(length)) for length, decay in zip(self.shape, decays, strict=True)]
        mean = np.ones(self.shape)
        for axis, length in enumerate(self.shape):
            wave = 1 + 0.5 * np.sin(np.linspace(0, np.pi, length))
            mean *= wave.reshape([-1 if a == axis else 1 for a in range(len(self.shape))])
        streams = np.empty((self.n_assets, *self.shape), self.dtype)
        for asset in range(self.n_assets):
            x = rng.standard_normal(self.shape)
            for axis, (basis, scale) in enumerate(zip(bases, scales, strict=True)):
                x = np.moveaxis(np.tensordot(basis * scale, x, axes=(1, axis)), 0, axis)
            x += 0.005 * x.std() * rng.standard_normal(self.shape)
            streams[asset] = x + mean
        return streams


CASES = {
    "a": Case("a", 400, (21, 21, 10), (4, 4, 3), 0.26e9),
    "b": Case("b", 284, (40, 20, 150), (6, 5, 6), 12e9),
    "c": Case("c", 200, (128, 128, 50), (10, 10, 8), 81e9),
    "d": Case("d", 64, (256, 256, 100), (10, 10, 20), 364e9, "float32"),
}
