"""What Numba does not promise to keep, in one place: look here first when a new version fails.

Two promises need it. A process that compiles a kernel and one that loads it from disk compute the
same bits: a kernel has copies of its own of what it calls (`KernelCompiler`), and code on disk is
stale when any file changes that it is made of (`watch_index`). And compiling takes half the time
where functions that only kernels call are compiled in these and nowhere else (`part`).
"""

from __future__ import annotations

from typing import Any

from llvmlite.binding import Linkage  # type: ignore[import-untyped]
from numba.core import cgutils, config
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.registry import CPUDispatcher

UNCOUNTED = {"_nrt": False}
"""Options of a kernel that counts no references to its arrays."""


def insert_function(module: Any, kind: Any, name: str) -> Any:
    """A function of LLVM that is declared once in a module."""
    return cgutils.get_or_insert_function(module, kind, name)  # type: ignore[no-untyped-call]


def data_of(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    """The address of the numbers of an array, inside compiled code."""
    return context.make_array(kind)(context, builder, array).data


def watch_index(dispatcher: Any, mark: str) -> None:
    """Let compiled code on disk be stale when `mark` changes, and never be the cause of an error.

    Numba looks at the file of a kernel alone; a kernel is made of other files too. And the index
    lists types by the names of their classes: an earlier version of the package may have left one
    with names that are gone, and loading it would end in an error before its age is looked at.
    """
    file = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    if file is None or not hasattr(file, "_source_stamp"):
        return  # no compiler, or one that keeps its results in another way
    file._source_stamp = (file._source_stamp, mark)
    load = file._load_index

    def load_index() -> dict[Any, Any]:
        try:
            index: dict[Any, Any] = load()
        except (AttributeError, ImportError):
            return {}
        return index

    file._load_index = load_index


class _KernelLibrary(JITCodeLibrary):
    """The code of a kernel, with copies of what it calls that are its own.

    Numba lets processes choose among copies of a function: the one that is run would be another
    where a kernel is compiled than where it is loaded, with sums in another order and other bits.
    """

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == Linkage.linkonce_odr:
                function.linkage = "internal"
        super()._optimize_final_module()  # type: ignore[no-untyped-call]


class KernelCompiler(Compiler):
    """Compiles what is called from Python."""

    def compile_extra(self, function: Any) -> Any:
        library = _KernelLibrary(self.state.targetctx.codegen(), function.__qualname__)  # type: ignore[no-untyped-call]
        library.enable_object_caching()  # type: ignore[no-untyped-call]
        self.state.library = library
        self.state.flags.no_cfunc_wrapper = True
        return super().compile_extra(function)  # type: ignore[no-untyped-call]


class _PartLibrary(JITCodeLibrary):
    """Code that is optimised in the kernels that it is linked with, and never run by itself."""

    def add_ir_module(self, module: Any) -> None:
        for function in module.functions:
            if not function.is_declaration and "alwaysinline" not in function.attributes:
                function.attributes.add("noinline")
        super().add_ir_module(module)  # type: ignore[no-untyped-call]

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalized = True


class _PartCompiler(Compiler):
    """Compiles as far as kernels need it: no machine code, and nothing that Python could call."""

    def compile_extra(self, function: Any) -> Any:
        flags, target = self.state.flags, self.state.targetctx
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        self.state.library = _PartLibrary(target.codegen(), function.__qualname__)  # type: ignore[no-untyped-call]
        return super().compile_extra(function)  # type: ignore[no-untyped-call]


class _Part(CPUDispatcher):
    """A function that compiled ones alone can call."""

    def add_overload(self, made: Any) -> None:
        key = object()  # Numba looks for the code by the function of Python that would run it
        self.targetctx.insert_user_function(key, made.fndesc, [made.library])  # type: ignore[no-untyped-call]
        self.overloads[tuple(made.signature.args)] = made._replace(entry_point=key)

    def __call__(self, *args: Any, **options: Any) -> Any:
        raise TypeError(f"{self.py_func.__name__} is a part of kernels, and compiled with them")


def part(function: Any, options: dict[str, Any]) -> Any:
    """A function that is compiled with every kernel that calls it, and not by itself."""
    if getattr(config, "DISABLE_JIT", 0):
        return function
    options = {"nopython": True, **options}
    return _Part(function, targetoptions=options, pipeline_class=_PartCompiler)
