# SPDX-License-Identifier: Apache-2.0
# Runs one step of an optimization that autocomp recorded.
"""Words: the number of the step from 0, then the kernel's arguments.

The file is one expression: the last candidate, whose `parent` is the one before it, each with its
`code` as text.
"""

import ast
import os
import sys
import tempfile
from pathlib import Path

from trnsim.frontend.arguments import parse
from trnsim.frontend.host.impersonate import load_kernel_module

FILE = Path(os.environ["TRNSIM_VALIDATION_FILE"])
IMPORTS = """import math
import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import neuronxcc.nki.typing as nt
from neuronxcc.nki.language import par_dim
"""


def steps_of(node):
    """The code of every step, the first one first."""
    found = []
    while isinstance(node, ast.Call):
        words = {word.arg: word.value for word in node.keywords}
        found.append(ast.literal_eval(words["code"]))
        node = words.get("parent")
    return found[::-1]


number, *arguments = sys.argv[1:]
steps = steps_of(ast.parse(FILE.read_text(encoding="utf-8"), mode="eval").body)
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / f"autocomp_step_{number}.py"
    path.write_text(IMPORTS + steps[int(number)], encoding="utf-8")
    load_kernel_module(path).test(*(parse(text)[1] for text in arguments))
