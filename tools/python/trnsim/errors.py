# SPDX-License-Identifier: Apache-2.0
# The two families of errors: the user's input is wrong, or the simulated program is.
"""Errors. Every message is one paragraph: where: what is, what is allowed; what to do."""

from __future__ import annotations


class FrontendError(Exception):
    """What a person is told about; `exit_status` is that of the command line."""

    exit_status = 1


class UserError(FrontendError):
    """The input to the frontend is wrong: a file, an argument, an option, a kernel that raises."""

    exit_status = 2


class ProgramError(FrontendError):
    """The traced program is wrong: the hardware would not execute it as written."""

    exit_status = 3


class IllegalInstruction(ProgramError):
    """An instruction breaks a rule of the chip; also visible as `nki.isa.NkiValidationError`."""


class OutOfBounds(ProgramError):
    """An access reaches beyond its tensor."""


class UnsupportedFeature(ProgramError):
    """A public name of NKI that exists, but whose meaning this frontend does not record."""

    @classmethod
    def named(cls, where: str, name: str) -> UnsupportedFeature:
        """The message for a call of the public name `name` at `where`."""
        return cls(f"{where}: {name} is not part of this version's frontend; "
                   "the kernel cannot be traced as far as it uses it")
