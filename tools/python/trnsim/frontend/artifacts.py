# SPDX-License-Identifier: Apache-2.0
# The files that AWS's decorators of kernels leave behind.
"""write_artifacts(options, kernel, latency): stand-ins for scripts that rename, list or count them.

`save_neff_name` and `save_trace_name` name a NEFF and an NTFF, in `working_directory`. With a
working directory, as nki.profile has one, there is a report for each NTFF, and the names have
defaults. [NKI-API-2.26] Of several executions every `profile_nth` is profiled. [NKI-SAMPLES]
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from trnsim.errors import UserError
from trnsim.frontend.writer import save_text

NEFF, TRACE, REPORTS = "file.neff", "profile.ntff", "json_reports"
"""What nki.profile calls its files, and the folder of its reports."""


def write_artifacts(options: Mapping[str, Any], kernel: str, latency_us: float) -> None:
    """Writes the files that the options of a decorator ask for; their text says what they are not.
    """
    folder = options.get("working_directory")
    text = ("Written by trnsim in place of a NEFF or NTFF, which it does not make: kernel "
            f"{kernel}, simulated latency {latency_us:.3f} us.")
    neff = options.get("save_neff_name") or (folder and NEFF)
    if neff:
        _write(Path(folder or "."), neff, text)
    for trace in _traces(options, options.get("save_trace_name") or (folder and TRACE)):
        _write(Path(folder or "."), trace, text)
        if folder:
            _write(Path(folder), f"{REPORTS}/{Path(trace).stem}.json", json.dumps(text))


def _traces(options: Mapping[str, Any], name: str | None) -> Iterator[str]:
    """A file for each execution that is profiled, the first one's as it is named."""
    if not name:
        return
    step = int(options.get("profile_nth") or 1)
    path = Path(name)
    for at in range(step, max(step, int(options.get("num_execs") or 1)) + 1, step):
        yield name if at == 1 else str(path.with_name(f"{path.stem}_exec_{at}{path.suffix}"))


def _write(folder: Path, name: str, text: str) -> None:
    path = folder / name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise UserError(f"{path}: {problem.strerror}; name another file or working_directory"
                        ) from problem
    save_text(path, f"{text}\n")
