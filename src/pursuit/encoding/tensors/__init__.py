"""Tensors of torch: by the engine on the CPU, by matrix products where they are elsewhere.

Users meet this as `pursuit.torch`. Everything here needs the extra `torch`, and imports it.
"""
