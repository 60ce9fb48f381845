"""A photograph, denoised with its own dictionary

Patches of 8 × 8 pixels are signals; a dictionary of them is learned from the noisy photograph
itself, every patch is encoded up to what noise would leave, and overlapping patches are averaged.
`pursuit denoise photo.png -o clean.png` does the same for a file.
"""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from sklearn.datasets import load_sample_image

import pursuit
from pursuit import plots

rng = np.random.default_rng(0)
clean = load_sample_image("china.jpg")[100:260, 150:390].mean(axis=2) / 255
noise = 25 / 255
noisy = clean + noise * rng.standard_normal(clean.shape)

patches = sliding_window_view(noisy, (8, 8)).reshape(-1, 64)
means = patches.mean(axis=1, keepdims=True)
learned = pursuit.learn(patches - means, 144, n_nonzero=5, passes=3)
codes = pursuit.encode(patches - means, learned.atoms, atol=1.15 * 8 * noise)
print(codes)

fits = (codes @ learned.atoms + means).reshape(clean.shape[0] - 7, clean.shape[1] - 7, 8, 8)
total, times = np.zeros_like(clean), np.zeros_like(clean)
for y in range(8):
    for x in range(8):
        place = np.s_[y : y + fits.shape[0], x : x + fits.shape[1]]
        total[place] += fits[:, :, y, x]
        times[place] += 1
result = total / times


def decibels(picture):
    return -10 * np.log10(np.mean((picture - clean) ** 2))


print(f"{decibels(noisy):.2f} dB before, {decibels(result):.2f} dB after")

figure = plots.shown(10, 2.9)
left, middle, right = figure.subplots(1, 3, width_ratios=(3, 3, 2))
for ax, picture, title in ((left, noisy, "with noise"), (middle, result, "without")):
    ax.imshow(picture, cmap="gray", vmin=0, vmax=1)
    ax.set_title(f"{title}: {decibels(picture):.1f} dB")
    ax.set_axis_off()
learned.plot(right)
right.set_title("its dictionary")
figure.savefig("photograph.png", dpi=130)
