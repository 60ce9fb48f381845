"""Many signals, one dictionary."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, overload

import numpy as np

from pursuit.encoding.chunks import DaskArray, open_chunks
from pursuit.encoding.codes import Codes
from pursuit.encoding.encoder import Encoder, OneCall
from pursuit.encoding.methods import METHODS
from pursuit.encoding.signals import adapters

if TYPE_CHECKING:
    from pursuit.encoding.lazy import LazyCodes

__all__ = ["METHODS", "Codes", "Encoder", "encode"]
adapters.append(open_chunks)  # what opens dask and zarr arrays


@overload
def encode(  # type: ignore[overload-overlap]
    signals: DaskArray,
    atoms: object,
    method: str = "orthogonal",
    *,
    n_nonzero: int | None = None,
    max_iter: int | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    rng: int | np.random.Generator | None = 0,
    threads: int | None = None,
    unit_atoms: bool = True,
    forward_only: bool = False,
    out: None = None,
    resume: bool = False,
    overwrite: bool = False,
    progress: bool | None = None,
) -> LazyCodes: ...
@overload
def encode(
    signals: object,
    atoms: object,
    method: str = "orthogonal",
    *,
    n_nonzero: int | None = None,
    max_iter: int | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    rng: int | np.random.Generator | None = 0,
    threads: int | None = None,
    unit_atoms: bool = True,
    forward_only: bool = False,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    overwrite: bool = False,
    progress: bool | None = None,
) -> Codes: ...
def encode(
    signals: object,
    atoms: object,
    method: str = "orthogonal",
    *,
    n_nonzero: int | None = None,
    max_iter: int | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    rng: int | np.random.Generator | None = 0,
    threads: int | None = None,
    unit_atoms: bool = True,
    forward_only: bool = False,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    overwrite: bool = False,
    progress: bool | None = None,
) -> Codes | LazyCodes:
    """Sparse codes of many signals over one dictionary: ``codes @ atoms ≈ signals``.

    Each signal gets the result of ``solve(SquaredDistance(signal), atoms, method)``, up to
    rounding, from compiled kernels or matrix products that work on blocks of signals. Methods with
    random directions are the same methods with other draws: each block has its own.

    Parameters
    ----------
    signals
        Shape (m, d), a signal in each row, or (m, *shape) for atoms of that shape; one signal of
        the shape of an atom is a single row. float32 stays float32 if the atoms are float32 too;
        any memory order. A `numpy.memmap` or the path of a
        ``.npy`` file is read a block at a time; so is an iterator that gives arrays of rows. The
        chunks of a dask array, or of a zarr array or its path, are encoded by Dask's scheduler or
        the cluster whose client is active, one thread a task (the extra ``dask``).
    atoms
        A `Dictionary`, or an array with an atom in each row, none of them zero. The largest
        magnitude of an atom, and that of a signal but zero, is within 1e±70, in float32 1e±15;
        anything else is an `InputError`: rescale the data. With a `Cone`
        of them coefficients are at least zero, by ``"orthogonal"`` or ``"matching-pursuit"``: an
        atom whose coefficient comes to zero leaves the code, and may come back.
    method
        A name in any letter case, with hyphens or underscores.
        ``"orthogonal"`` or ``"omp"``: orthogonal matching pursuit; coefficients are those of the
        least-squares fit over the chosen atoms. ``"matching-pursuit"`` or ``"mp"``: one exact step
        along the best atom at a time; an atom may be chosen again. ``"affine-invariant"``:
        Algorithm 2, the same with steps that L_A bounds. ``"random-pursuit"``: exact steps along
        atoms drawn uniformly. ``"accelerated-random"``, ``"accelerated-matching-pursuit"`` and
        ``"greedy-greedy"``: Algorithms 3 and 4, and 4 with z̃ = z, with a ν that is computed to be
        safe. ``"accelerated"``: conjugate gradients over all atoms, whatever their scale. Codes of
        float32 are computed in float32 where that is as good as float64: where n or d is at most
        1,024 and the atoms, at unit norm, have a condition number of at most 30. Else they are
        computed in float64; ``codes.plan`` says which. All atoms may enter the codes of the
        accelerated ones.
    n_nonzero
        The most distinct atoms of a code; refused for the accelerated methods. Where no stopping
        rule is given at all, orthogonal and matching pursuit take a tenth of d, at least 1.
    max_iter
        The most steps for a signal; 1,000 where it is not given, but for orthogonal pursuit.
    rtol, atol
        Stop when the residual norm is at most `rtol` times the signal's norm, or at most `atol`.
    rng
        Of the methods with random directions: an integer; or a `numpy.random.Generator`, which one
        integer is drawn from; or None: one is drawn from the system. ``codes.plan`` names it where
        it is not 0. Each block of signals has draws of its own, and each signal of a block.
    threads
        Python threads; else ``$PURSUIT_THREADS``, else every core. It changes no bit of the
        result. While threads work, BLAS is limited to one thread in the whole process.
    unit_atoms
        Run on the atoms divided by their norms, and give coefficients for the atoms as they are:
        supports and fits then do not depend on their scale. False: the atoms as given.
    forward_only
        Matching pursuit over a `Cone` whose coefficients only grow: z = argmax ⟨r, z⟩ over the
        atoms as given, whatever `unit_atoms` is, and a step r ← r − ⟨r, z⟩ z that is not divided
        by ‖z‖². This is what the encoders of matching-pursuit autoencoders do. For atoms longer
        than √2 the residual grows: a signal is DIVERGED where its square is twice the signal's.
    out
        A new folder that codes are written to while they are made, for more than fits in memory.
        It is locked for other jobs meanwhile. A run that fails keeps its finished blocks there, for
        `resume`; where there are none, it leaves nothing.
        The codes come back as those of ``Codes.open(out)``. For residual tests alone, a code takes
        the room of the most atoms that it might need: give `n_nonzero` too.
    resume
        Continue where a run into `out` was stopped, whatever stopped it. It has to be the same
        job; an iterator has to give the same signals again, from the first. The signals of finished
        blocks are compared with their checksums, and an error names a block that has changed.
    overwrite
        Replace the codes in `out`, if there are any. Other files there stay, and a folder without
        codes is refused.
    progress
        True or False for a progress bar or none; by default one appears on a terminal when the
        job takes more than two seconds.

    Returns
    -------
    Codes
        Sparse codes, residual norms, iterations and a status for each signal. A signal is
        CONVERGED when its residual test is met or no atom has a slope above rounding, MAX_NONZERO
        or MAX_ITER when those ran out, STALLED when only atoms that depend on the chosen ones
        are left or nothing more can be gained in this precision. Methods with random directions
        look at all slopes once in n steps (in 64 for fewer atoms). A run whose coefficients left
        the range of numbers or the neighbourhood of its signal is DIVERGED, its code empty.
        For a dask array, and no `out`: lazy codes, whose ``compute()`` gives these.

    Examples
    --------
    >>> import numpy as np
    >>> from pursuit import encode
    >>> atoms = np.array([[3.0, 0.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 5.0]])
    >>> codes = encode([[6.0, 2.0, 2.0], [0.0, 0.0, 10.0]], atoms, n_nonzero=2)
    >>> codes.toarray().round(9).tolist()
    [[2.0, 2.0, 0.0], [0.0, 0.0, 2.0]]
    >>> codes.status(0).name
    'CONVERGED'
    """
    encoder = OneCall(
        atoms,
        method,
        n_nonzero=n_nonzero,
        max_iter=max_iter,
        rtol=rtol,
        atol=atol,
        rng=rng,
        threads=threads,
        unit_atoms=unit_atoms,
        forward_only=forward_only,
    )
    return encoder(signals, out=out, resume=resume, overwrite=overwrite, progress=progress)
