# SPDX-License-Identifier: Apache-2.0
# The host's side: programs that launch kernels, and what kernel files find in them.
"""Scripts, torch and JAX around kernels, the impersonated modules, kernels named on a command
line."""
