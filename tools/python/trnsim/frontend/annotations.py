# SPDX-License-Identifier: Apache-2.0
# Annotations of users' code, which from Python 3.14 on are evaluated when somebody asks for them.
"""Signatures and annotations, also where a name in an annotation means nothing: no kernel of ours
depends on what it means.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

if sys.version_info >= (3, 14):
    from annotationlib import Format, get_annotations

    def signature(function: Callable[..., Any]) -> inspect.Signature:
        """The signature of a function."""
        return inspect.signature(function, annotation_format=Format.FORWARDREF)

    def annotations_of(cls: type) -> dict[str, Any]:
        """The annotations of a class, without those of its bases."""
        return get_annotations(cls, format=Format.FORWARDREF)
else:
    def signature(function: Callable[..., Any]) -> inspect.Signature:
        """The signature of a function."""
        return inspect.signature(function)

    def annotations_of(cls: type) -> dict[str, Any]:
        """The annotations of a class, without those of its bases."""
        return inspect.get_annotations(cls)
