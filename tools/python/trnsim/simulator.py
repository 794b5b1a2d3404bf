# SPDX-License-Identifier: Apache-2.0
# Runs the C++ simulator on a trace.
"""run_trace(trace, options) -> Result."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any
from collections.abc import Mapping, Sequence

from trnsim.binary import find_binary
from trnsim.errors import FrontendError, ProgramError, UserError
from trnsim.result import Result

PARENT_VARIABLE = "TRNSIM_PARENT"
"""Environment variable of a simulator that ends with the process of this number, if that is the one
that has started it."""
Overrides = Mapping[str, Any] | Sequence[str] | None


@dataclass(frozen=True)
class Options:
    """How a trace is simulated: the options of `trnsim run` but for its input and outputs."""

    chip: str
    settings: tuple[str, ...] = ()
    policies: tuple[str, ...] = ()
    cores: int | None = None
    permissive: bool = False
    method: str = "profiler"
    timeline: str | Path | None = None
    instructions: str | Path | None = None
    words: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        words = ["--chip", str(self.chip)]
        words += [f"--cores={self.cores}"] if self.cores is not None else []
        words += [f"--set={setting}" for setting in self.settings]
        words += [f"--policy={policy}" for policy in self.policies]
        words += [f"--method={self.method}"] if self.method != "profiler" else []
        words += ["--permissive"] if self.permissive else []
        words += [f"--timeline={self.timeline}"] if self.timeline is not None else []
        words += [f"--instructions={self.instructions}"] if self.instructions is not None else []
        object.__setattr__(self, "words", tuple(words))


def assignments(given: Overrides) -> tuple[str, ...]:
    """Overrides as the command line takes them: `path=value`. UserError for what is none."""
    if given is None:
        return ()
    if isinstance(given, Mapping):
        return tuple(f"{name}={_value(value)}" for name, value in given.items())
    texts = (given,) if isinstance(given, str) else given
    if not isinstance(texts, Sequence) or not all(isinstance(one, str) for one in texts):
        raise UserError(f"settings and policies are dicts, or texts like 'path=value', but this is "
                        f"{given!r}; write {{path: value}}")
    return tuple(texts)


def _value(value: Any) -> str:
    """Truth values, those of numpy too, are true and false."""
    is_flag = not isinstance(value, str) and str(value) in ("True", "False")
    return str(value).lower() if is_flag else str(value)


def run_trace(trace: bytes | str | Path, options: Options, name: str = "-",
              colour: bool = False) -> Result:
    """Simulates a trace, given as its bytes or as a file. `name` is the `input` of the result.

    UserError and ProgramError as the simulator ends, FrontendError if it breaks.
    """
    contents = trace if isinstance(trace, bytes) else b""
    words = ["-" if isinstance(trace, bytes) else str(trace), *options.words]
    status, result, text, said = _run(words, contents, {"CLICOLOR_FORCE": "1"} if colour else {})
    if status != 0:
        raise _error(status, said.decode(errors="replace").strip(), name)
    data = json.loads(result)
    if isinstance(trace, bytes):
        data["input"] = name
    return Result(data, text.decode(), timeline=partial(_timeline, trace, options, name))


def _run(words: Sequence[str], contents: bytes,
         variables: Mapping[str, str]) -> tuple[int, bytes, bytes, bytes]:
    """Runs `trnsim run` on what it reads from standard input; its status, its JSON, its output and
    its standard error.

    Whatever ends this process ends the simulator, and leaves no file: none has a name.
    """
    binary = str(find_binary())
    environment = {**os.environ, PARENT_VARIABLE: str(os.getpid()), **variables}
    with (tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as shown,
          tempfile.TemporaryFile() as said):
        given.write(contents)
        given.seek(0)
        read, write = os.pipe()
        with open(read, "rb") as told:
            try:
                process = subprocess.Popen(
                    [binary, "run", *words, "--json", f"/dev/fd/{write}"], stdin=given,
                    stdout=shown, stderr=said, pass_fds=[write], env=environment)
            finally:
                os.close(write)
            with process:
                try:
                    result = told.read()
                except BaseException:
                    process.kill()
                    raise
        shown.seek(0)
        said.seek(0)
        return process.returncode, result, shown.read(), said.read()


def _timeline(trace: bytes | str | Path, options: Options, name: str, path: str | Path) -> None:
    """Simulates once more, which comes to the same, for the timeline."""
    run_trace(trace, replace(options, timeline=path, instructions=None), name)


def _error(status: int, words: str, name: str) -> FrontendError:
    """What a failure of the simulator is."""
    if words.startswith("-:"):
        words = f"{name}:{words[2:]}"
    if status == 2:
        return UserError(words)
    if status == 3:
        return ProgramError(words)
    return FrontendError(f"the simulator ended with status {status}, please report it: {words}")
