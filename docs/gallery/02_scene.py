"""A scene, unmixed

Every pixel of a hyperspectral scene is a spectrum, mixed of a few materials. `pick` finds pixels
that are pure, `unmix` how much of each is in every pixel. The scene here is simulated, so that the
truth is known; `read_scene` reads files, and `pursuit unmix scene.mat --report scene.html` makes a
page of one.
"""

import numpy as np
from scipy.ndimage import gaussian_filter, gaussian_filter1d

from pursuit import plots
from pursuit.unmixing import Scene, pick, unmix

rng = np.random.default_rng(3)
rows, columns, bands, materials = 90, 120, 80, 4
spectra = gaussian_filter1d(rng.uniform(0, 1, (materials, bands)), 6, axis=1)
spectra = 0.05 + (spectra - spectra.min()) / np.ptp(spectra)
spectra[3] *= 0.1  # a dark one: water, say

ground = np.stack([gaussian_filter(rng.standard_normal((rows, columns)), 9) for _ in range(4)], 2)
truth = np.exp(80 * ground)
truth /= truth.sum(axis=2, keepdims=True)
pixels = truth.reshape(-1, materials) @ spectra + 0.003 * rng.standard_normal(
    (rows * columns, bands)
)

places = np.argwhere(np.ones((rows, columns), bool))
scene = Scene(np.maximum(pixels, 0), places, (rows, columns), np.arange(1, bands + 1))
found = unmix(scene, pick(scene, materials), constraint="sum-to-one")
print(found)

figure = plots.shown(10, 4.6)
grid = figure.subplots(2, materials + 1)
nearest = np.corrcoef(truth.reshape(-1, materials).T, found.abundances.T)[:materials, materials:]
maps = found.maps()
for j, k in enumerate(nearest.argmax(axis=1)):
    grid[0, j].imshow(truth[:, :, j], vmin=0, vmax=1, cmap="viridis")
    grid[1, j].imshow(maps[:, :, k], vmin=0, vmax=1, cmap="viridis")
    grid[0, -1].plot(spectra[j], **plots.look(j))
    grid[1, -1].plot(found.endmembers[k], **plots.look(j))
for ax in grid[:, :-1].flat:
    ax.set(xticks=[], yticks=[])
grid[0, 0].set_ylabel("truth")
grid[1, 0].set_ylabel("unmixed")
grid[0, -1].set_title("spectra")
figure.savefig("scene.png", dpi=130)
