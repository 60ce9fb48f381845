"""The paper's two figures

The experiments of *On Matching Pursuit and Coordinate Descent* in a small edition: random positive
atoms of norm one, and the pixels of a hyperspectral scene (simulated here). With L = ‖D‖₂² the
accelerated methods are ahead, as in the paper's figures; with the exact L, Algorithm 4 with ν = 1
diverges. `pursuit reproduce all` runs the full edition, says where each claim holds and
makes a page.
"""

from dataclasses import replace

from pursuit.experiments import toy, urban
from pursuit.experiments.urban_data import simulated

panels = toy.run(seeds=3, iterations=3000, kinds=toy.KINDS[:1])
figure = toy.draw(panels)
figure.savefig("toy.png", dpi=110)

scene = simulated()
panels = urban.run(replace(scene, signals=scene.signals[:400]), iterations=1500)
print(panels[0].title)
figure = urban.draw(panels[:2])
figure.savefig("pixels.png", dpi=110)
