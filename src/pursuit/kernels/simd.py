"""Vector registers as Numba values.

LLVM's vectoriser gives up on the loops that matter here: a maximum with its place, a sum over a
basis that is then stored, both because arrays might overlap. A `Lanes` value is a short vector
that LLVM keeps in registers on any machine, so that the kernels say what stays there. The values
are never seen from Python: the functions below exist inside compiled code only.

==========================  ==================================================================
function                    gives
==========================  ==================================================================
wide(array, at)             256 bytes of a flat array: one tile of a row of correlations
middling(array, at)         128 bytes of it
narrow(array, at)           64 bytes of it
entry(array, at)            one number of it
store(array, at, v)         v written back
minus(v, s, u)              v − s·u, in one rounding where the machine can
plus(v, s, u)               v + s·u
times(s, v)                 s·v
product(v, u, w)            v + u·w, lane by lane
total(v)                    the sum of the lanes, a number
size(v)                     \\|v\\|, lane by lane
larger(u, v)                the larger, lane by lane
highest(v)                  the largest lane, a number
first(v, s)                 the place of the first lane with \\|lane\\| = s
above(v, s)                 the lanes of v above those of s, the others −1
counted(v, top)             v + 1 in the lanes where top ≥ 0
sweep(n, c, a, gram, top)   one step of matching pursuit in every lane
==========================  ==================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic, models, register_model

from pursuit.kernels import private

WIDE = 256
"""Bytes of a tile: enough independent sums to hide the latency of a multiply-add."""
MIDDLING = 128
"""Enough for two sums at a time, and few enough to keep several of them in registers."""
NARROW = 64

Declared = Callable[..., Any]
_FAST = ("contract", "nsz", "nnan", "ninf")
_INT32 = ir.IntType(32)


class Lanes(types.Type):
    """`width` numbers of one type."""

    def __init__(self, dtype: Any, width: int) -> None:
        self.dtype, self.width = dtype, width
        super().__init__(name=f"Lanes({dtype}, {width})")


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, lanes: Lanes) -> None:
        super().__init__(manager, lanes, _vector(lanes))  # type: ignore[no-untyped-call]


def _intrinsic(function: Declared) -> Declared:
    """Numba's decorator; the function it gives is called without the typing context."""
    return cast(Declared, intrinsic(function))


def _number(dtype: Any) -> Any:
    return ir.FloatType() if dtype == types.float32 else ir.DoubleType()


def _vector(lanes: Lanes) -> Any:
    return ir.VectorType(_number(lanes.dtype), lanes.width)


def _call(builder: Any, name: str, lanes: Lanes, result: Any, *arguments: Any) -> Any:
    """A call of an intrinsic of LLVM that takes a whole vector."""
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    suffix = f"v{lanes.width}f{lanes.dtype.bitwidth}"
    function = private.insert_function(builder.module, kind, f"llvm.{name}.{suffix}")
    return builder.call(function, arguments, fastmath=("nnan", "nsz"))


def _spread(builder: Any, number: Any, lanes: Lanes) -> Any:
    """A number in every lane."""
    empty = ir.Constant(_vector(lanes), ir.Undefined)
    one = builder.insert_element(empty, number, ir.Constant(_INT32, 0))
    zeros = ir.Constant(ir.VectorType(_INT32, lanes.width), [0] * lanes.width)
    return builder.shuffle_vector(one, empty, zeros)


def _constant(lanes: Lanes, value: float) -> Any:
    return ir.Constant(_vector(lanes), [value] * lanes.width)


def _abs(builder: Any, v: Any, lanes: Lanes) -> Any:
    return _call(builder, "fabs", lanes, _vector(lanes), v)


def _address(context: Any, builder: Any, kind: Any, array: Any, at: Any, lanes: Lanes) -> Any:
    data = private.data_of(context, builder, kind, array)
    return builder.bitcast(builder.gep(data, [at]), _vector(lanes).as_pointer())


def _loader(bytes_: int, doc: str) -> Declared:
    def load(typing_context: Any, array: Any, at: Any) -> Any:
        lanes = Lanes(array.dtype, bytes_ * 8 // array.dtype.bitwidth)

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            address = _address(context, builder, signature.args[0], args[0], args[1], lanes)
            # Arrays are aligned to their items, whatever the vector would like.
            return builder.load(address, align=array.dtype.bitwidth // 8)

        return lanes(array, types.intp), generate

    load.__doc__ = doc
    return _intrinsic(load)


wide = _loader(WIDE, "256 bytes of a flat array.")
middling = _loader(MIDDLING, "128 bytes of a flat array.")
narrow = _loader(NARROW, "64 bytes of a flat array.")


@_intrinsic
def entry(typing_context: Any, array: Any, at: Any) -> Any:
    """array[at] for at ≥ 0: indexing would first look whether it counts from the end."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = private.data_of(context, builder, signature.args[0], args[0])
        return builder.load(builder.gep(data, [args[1]]))

    return array.dtype(array, types.intp), generate


@_intrinsic
def store(typing_context: Any, array: Any, at: Any, v: Any) -> Any:
    """v written to a flat array."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        address = _address(context, builder, signature.args[0], args[0], args[1], v)
        builder.store(args[2], address, align=array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, v), generate


@_intrinsic
def minus(typing_context: Any, v: Any, s: Any, u: Any) -> Any:
    """v − s·u."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        product = builder.fmul(_spread(builder, args[1], v), args[2], flags=_FAST)
        return builder.fsub(args[0], product, flags=_FAST)

    return v(v, v.dtype, u), generate


@_intrinsic
def plus(typing_context: Any, v: Any, s: Any, u: Any) -> Any:
    """v + s·u; the deliberate twin of `minus`."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        product = builder.fmul(_spread(builder, args[1], v), args[2], flags=_FAST)
        return builder.fadd(args[0], product, flags=_FAST)

    return v(v, v.dtype, u), generate


@_intrinsic
def times(typing_context: Any, s: Any, v: Any) -> Any:
    """s·v."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fmul(_spread(builder, args[0], v), args[1], flags=_FAST)

    return v(v.dtype, v), generate


@_intrinsic
def product(typing_context: Any, v: Any, u: Any, w: Any) -> Any:
    """v + u·w."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fadd(args[0], builder.fmul(args[1], args[2], flags=_FAST), flags=_FAST)

    return v(v, u, w), generate


@_intrinsic
def total(typing_context: Any, v: Any) -> Any:
    """The sum of the lanes, by halves."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vector, width = args[0], v.width
        while width > 1:
            width //= 2
            halves = (
                ir.Constant(ir.VectorType(_INT32, width), list(places))
                for places in (range(width), range(width, 2 * width))
            )
            low, high = (builder.shuffle_vector(vector, vector, places) for places in halves)
            vector = builder.fadd(low, high)
        return builder.extract_element(vector, ir.Constant(_INT32, 0))

    return v.dtype(v), generate


@_intrinsic
def size(typing_context: Any, v: Any) -> Any:
    """|v|."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _abs(builder, args[0], v)

    return v(v), generate


@_intrinsic
def larger(typing_context: Any, u: Any, v: Any) -> Any:
    """max(u, v)."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", *args, flags=_FAST), *args)

    return v(u, v), generate


@_intrinsic
def highest(typing_context: Any, v: Any) -> Any:
    """The largest lane."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _call(builder, "vector.reduce.fmax", v, _number(v.dtype), args[0])

    return v.dtype(v), generate


@_intrinsic
def first(typing_context: Any, v: Any, s: Any) -> Any:
    """The place of the first lane with |lane| = s."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        hits = builder.fcmp_ordered("==", _abs(builder, args[0], v), _spread(builder, args[1], v))
        bits = ir.IntType(v.width)
        place = builder.cttz(builder.bitcast(hits, bits), ir.Constant(ir.IntType(1), 0))
        return place if v.width == 64 else builder.zext(place, ir.IntType(64))

    return types.int64(v, v.dtype), generate


@_intrinsic
def above(typing_context: Any, v: Any, s: Any) -> Any:
    """The lanes of v above those of s, the others −1."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", *args), args[0], _constant(v, -1.0))

    return v(v, s), generate


@_intrinsic
def counted(typing_context: Any, v: Any, top: Any) -> Any:
    """v + 1 in the lanes where top ≥ 0."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        live = builder.fcmp_ordered(">=", args[1], _constant(v, 0.0))
        return builder.fadd(args[0], builder.select(live, _constant(v, 1.0), _constant(v, 0.0)))

    return v(v, top), generate


@_intrinsic
def sweep(typing_context: Any, places: Any, c: Any, value: Any, gram: Any, top: Any) -> Any:
    """One step of matching pursuit in every lane, over as many unit atoms as `places` has entries.

    c and value hold a vector for each atom. The atom of a lane is the first with |c| = top; there
    value ← value + γ with γ = c, and c ← c − γ·(its row of `gram`). The largest |c| of each lane
    is given back. The loops over atoms are unrolled, so that the steps stay in registers.
    """
    lanes, n = top, places.count

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def at(array: int, j: int) -> Any:
            place = ir.Constant(ir.IntType(64), j * lanes.width)
            return _address(context, builder, signature.args[array], args[array], place, lanes)

        aligned = lanes.dtype.bitwidth // 8
        before = [builder.load(at(1, j), align=aligned) for j in range(n)]
        gammas, left = [], args[4]
        for j in range(n):
            hit = builder.fcmp_ordered("==", _abs(builder, before[j], lanes), left)
            gammas.append(builder.select(hit, before[j], _constant(lanes, 0.0)))
            left = builder.select(hit, _constant(lanes, -1.0), left)
            sum_ = builder.fadd(builder.load(at(2, j), align=aligned), gammas[j])
            builder.store(sum_, at(2, j), align=aligned)
        data = private.data_of(context, builder, signature.args[3], args[3])
        best = _constant(lanes, 0.0)
        for i in range(n):
            v = before[i]
            for j in range(n):
                pair = builder.load(builder.gep(data, [ir.Constant(ir.IntType(64), j * n + i)]))
                fall = builder.fmul(_spread(builder, pair, lanes), gammas[j], flags=_FAST)
                v = builder.fsub(v, fall, flags=_FAST)
            builder.store(v, at(1, i), align=aligned)
            size_ = _abs(builder, v, lanes)
            best = builder.select(builder.fcmp_ordered(">", size_, best, flags=_FAST), size_, best)
        return best

    return lanes(places, c, value, gram, lanes), generate
