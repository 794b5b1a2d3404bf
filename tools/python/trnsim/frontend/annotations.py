# SPDX-License-Identifier: Apache-2.0
# Annotations of users' code, which from Python 3.14 on are evaluated when somebody asks for them.
"""Signatures and annotations, also where a name in an annotation means nothing: no kernel of ours
depends on what it means.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

if sys.version_info >= (3, 14):
    from annotationlib import Format, get_annotations

    def signature(function: Callable[..., Any], follow_wrapped: bool = True) -> inspect.Signature:
        """The signature of a function, or of what it says that it wraps."""
        return inspect.signature(function, follow_wrapped=follow_wrapped,
                                 annotation_format=Format.FORWARDREF)

    def annotations_of(cls: type) -> dict[str, Any]:
        """The annotations of a class, without those of its bases."""
        return get_annotations(cls, format=Format.FORWARDREF)
else:
    def signature(function: Callable[..., Any], follow_wrapped: bool = True) -> inspect.Signature:
        """The signature of a function, or of what it says that it wraps."""
        return inspect.signature(function, follow_wrapped=follow_wrapped)

    def annotations_of(cls: type) -> dict[str, Any]:
        """The annotations of a class, without those of its bases."""
        return inspect.get_annotations(cls)


def own_signature(function: Callable[..., Any]) -> inspect.Signature:
    """How a function itself is called, whatever it wraps."""
    try:
        return signature(function, follow_wrapped=False)
    except ValueError:  # Python does not look into what is called in functools.partial.
        return signature(function)


def bound(function: Callable[..., Any], arguments: Sequence[Any],
          keywords: Mapping[str, Any]) -> inspect.BoundArguments:
    """The arguments by parameter. TypeError if they do not fit, first of all for unknown names.

    Of a function that wraps another one they have that one's names, as far as they fit it, too.
    """
    own = own_signature(function)
    own.bind_partial(*arguments, **keywords)
    fitted = own.bind(*arguments, **keywords)
    with suppress(TypeError):
        named = signature(function).bind(*arguments, **keywords)
        own.bind(*named.args, **named.kwargs)
        return named
    return fitted
