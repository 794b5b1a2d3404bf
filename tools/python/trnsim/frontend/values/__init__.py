# SPDX-License-Identifier: Apache-2.0
# What a kernel computes: numpy evaluation of every recorded instruction.
"""Values: the contents of all memories, and what each instruction makes of them.

    recorder.py     a Recorder that also evaluates what it records
    evaluate.py     operation -> evaluator; the operands of one instruction
    memory.py       the contents of one storage, and which elements are written
    garbage.py      what comes from elements that are not
    products.py     which times 0 is 0
    casting.py      numpy types of NKI's, rounding and saturation

Nothing here is imported unless values are asked for.
"""
