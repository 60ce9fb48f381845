"""A sound, taken apart

Matching pursuit began with sounds: each one is a sum of waves with a beginning and an end. Notes, a
chirp and clicks come apart, because a click is one short atom and a note one long one. A
`Book` can be filtered like a table and turned into sound again.
"""

import numpy as np

from pursuit import decompose

rng = np.random.default_rng(0)
rate = 8000
t = np.arange(3 * rate) / rate
sound = 0.01 * rng.standard_normal(t.size)
for begin, pitch in ((0.2, 440), (0.8, 660), (1.4, 880)):
    age = np.maximum(t - begin, 0)
    sound += 0.5 * (t > begin) * np.exp(-4 * age) * np.sin(2 * np.pi * pitch * age)
sound += 0.2 * np.cos(2 * np.pi * (1500 * t + 350 * t**2)) * (t > 1.0)  # a chirp
for place in (0.5, 2.2, 2.6):
    sound[int(place * rate) : int(place * rate) + 16] += np.hanning(16)  # clicks

book = decompose(sound, rate, snr=15)
print(book)
print(f"{len(book[book.scale <= 128])} atoms are clicks")

figure = book.plot(sound)
figure.axes[0].set_title(f"{len(book)} Gabor atoms, {book.snr(sound)[0]:.1f} dB")
figure.savefig("sound.png", dpi=130)
