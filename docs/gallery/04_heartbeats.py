"""An ECG, by beats that are learned from it

A long signal in which a few shapes come again and again: `learn_templates` finds the shapes, and
where they stand. The ECG is simulated, with normal beats and, now and then, wide ones.
"""

import numpy as np

from pursuit import learn_templates, plots

rng = np.random.default_rng(1)
rate, seconds = 250, 60
t = np.arange(rate) / rate - 0.5


def bump(at, width, height):
    return height * np.exp(-0.5 * ((t - at) / width) ** 2)


normal = bump(-0.18, 0.025, 0.15) + bump(-0.03, 0.008, -0.15) + bump(0, 0.011, 1.0)
normal += bump(0.03, 0.009, -0.25) + bump(0.25, 0.04, 0.3)
wide = bump(0.0, 0.05, 0.9) + bump(0.12, 0.05, -0.6)

ecg, beats = 0.03 * rng.standard_normal(seconds * rate), []
place = rate // 2
while place < (seconds - 1) * rate:
    kind = int(rng.random() < 0.2)
    ecg[place - rate // 2 : place + rate // 2] += (normal, wide)[kind] * rng.uniform(0.9, 1.1)
    beats.append((place, kind))
    place += int(rate * rng.uniform(0.7, 0.95))

learned = learn_templates(ecg, 2, int(0.7 * rate), n_atoms=len(beats))
print(learned)
kinds, *_, places = learned.atoms.place(learned.result.support)
# The template of the wide beats is the one that stands where they are.
near = [int(np.argmin(abs(places + 0.35 * rate - at))) for at, _ in beats]
told = np.array([kinds[j] for j in near])
made = np.array([kind for _, kind in beats])
agree = max(np.mean(told == made), np.mean(told != made))
print(f"{agree:.1%} of {len(beats)} beats are told apart as they were made")

figure = plots.shown(10, 4.2)
above, below = figure.subplots(2, 1)
first = next(at for at, kind in beats if kind) - 2 * rate  # two seconds before a wide one
shown = slice(first, first + 8 * rate)
seconds_shown = np.arange(ecg.size)[shown] / rate
above.plot(seconds_shown, ecg[shown], color="#999999", label="ECG")
above.plot(seconds_shown, learned.result.x[shown], label="two templates", **plots.look(0))
above.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False)
above.set(xlabel="seconds", xlim=(seconds_shown[0], seconds_shown[-1]))
for k, template in enumerate(learned.templates):
    below.plot(
        np.arange(template.size) / rate, template, label=f"template {k + 1}", **plots.look(k)
    )
below.legend()
below.set(xlabel="seconds")
figure.savefig("heartbeats.png", dpi=130)
