"""Random calls of the documented API, each checked against an independent definition.

A case is named by its area, its seed and its number, and is run again by that name alone. Every
call must return what the check of its area confirms (a textbook recomputation, optimality
conditions, a reference of SciPy) or raise an `InputError` of one line that names an argument.
Anything else is a finding: another exception, a warning, a hang, a modified input, a wrong number.
Data have magnitudes within 1e±6. ``python tools/fuzz --help`` lists the options.
"""
