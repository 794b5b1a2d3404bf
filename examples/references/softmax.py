# SPDX-License-Identifier: Apache-2.0
"""What kernels/softmax.py is to compute, in numpy.

    trnsim run examples/kernels/softmax.py::softmax --arg 'float32[300,1024]' \\
        --check examples/references/softmax.py::softmax
"""

import numpy as np


def softmax(x):
    """Softmax of each row, in float64."""
    exponentials = np.exp(x - x.max(axis=1, keepdims=True), dtype=np.float64)
    return exponentials / exponentials.sum(axis=1, keepdims=True)
