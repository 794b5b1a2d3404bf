# SPDX-License-Identifier: Apache-2.0
# The pages of the heap.
"""Test of what the process asks of the operating system before it starts."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
import traces
from command_line import CommandLine

LARGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")
SECONDS = 10


def heap_flags(process: int) -> list[list[str]]:
    """What the kernel knows of each part of a process's heap."""
    parts = re.split(r"^(?=[0-9a-f]+-[0-9a-f]+ )", Path(f"/proc/{process}/smaps").read_text(),
                     flags=re.MULTILINE)
    return [flags[1].split() for part in parts
            if "[heap]" in part and (flags := re.search(r"^VmFlags:(.*)$", part, re.MULTILINE))]


@pytest.mark.skipif(sys.platform != "linux" or not LARGE_PAGES.exists(),
                    reason="the system has no transparent large pages")
def test_the_heap_asks_for_large_pages(trnsim: CommandLine) -> None:
    if "asan" in trnsim.binary:
        pytest.skip("the sanitizer has a heap of its own")
    with subprocess.Popen([trnsim.binary, "run", "/dev/stdin", "--chip", "trn2", "--quiet"],
                          stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        try:
            deadline = time.monotonic() + SECONDS
            while not any("hg" in flags for flags in heap_flags(process.pid)):
                assert process.poll() is None
                assert time.monotonic() < deadline, heap_flags(process.pid)
                time.sleep(0.01)
        finally:
            process.communicate(traces.add().encode())
    assert process.returncode == 0
