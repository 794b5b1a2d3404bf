# SPDX-License-Identifier: Apache-2.0
# The two APIs, as dialect.py describes them.
"""What `import nki` and `import neuronxcc.nki` find, and how kernels of each are run."""
