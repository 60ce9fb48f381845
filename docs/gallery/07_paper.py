"""The paper's two figures

The experiments of *On Matching Pursuit and Coordinate Descent* in a small edition: random atoms of
norm one, and the pixels of a hyperspectral scene (simulated here). With the ν that the paper
prints Algorithm 4 diverges on unit atoms; with a valid one it does not. `pursuit reproduce all`
runs the full edition, judges every claim and makes a page.
"""

from dataclasses import replace

from pursuit.experiments import toy, urban
from pursuit.experiments.urban_data import simulated

panels = toy.run(seeds=3, iterations=1500)
figure = toy.draw(panels[:1])
figure.savefig("toy.png", dpi=110)

scene = simulated()
panel = urban.run(replace(scene, signals=scene.signals[:400]), iterations=1500)
print(panel.title)
figure = urban.draw(panel)
figure.savefig("pixels.png", dpi=110)
