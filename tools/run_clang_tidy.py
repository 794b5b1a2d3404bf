#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy over the sources of a build tree, in parallel, remembering what was clean.

A source is checked again only when it, a header of ours it includes (directly or not), its compile
command or .clang-tidy changed. The memory is in $XDG_CACHE_HOME/trnsim (~/.cache by default). With
--seconds, the library comes first and what is left when the time is up waits for the next run.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CLANG_TIDY = "clang-tidy-14"
QUOTED = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def cache_dir() -> Path:
    """Where digests of clean sources are kept."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    path = Path(home) / "trnsim" / "clang-tidy"
    path.mkdir(parents=True, exist_ok=True)
    return path


def closure(source: Path) -> list[Path]:
    """The source and every header of ours it reaches, sorted."""
    reached: set[Path] = set()
    waiting = [source]
    while waiting:
        path = waiting.pop()
        if path in reached:
            continue
        reached.add(path)
        for name in QUOTED.findall(path.read_text()):
            places = (path.parent / name, ROOT / "include" / name, ROOT / "tests" / name)
            waiting += [place.resolve() for place in places if place.exists()][:1]
    return sorted(reached)


def digest(source: Path, command: str, version: str) -> str:
    """Names everything the result on `source` depends on, wherever the tree lies."""
    hasher = hashlib.sha256()
    for text in (version, command.replace(str(ROOT), "."), (ROOT / ".clang-tidy").read_text()):
        hasher.update(text.encode() + b"\0")
    for path in closure(source):
        hasher.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes() + b"\0")
    return hasher.hexdigest()


def check(source: Path, build: Path) -> tuple[str, float]:
    """What clang-tidy says about one source, empty when clean; and how many seconds it took."""
    start = time.monotonic()
    run = subprocess.run(
        [CLANG_TIDY, "--quiet", "-p", str(build), str(source)],
        capture_output=True,
        text=True,
        check=False,
    )
    return "" if run.returncode == 0 else run.stdout + run.stderr, time.monotonic() - start


def library_first(source: Path) -> tuple[bool, bool, Path]:
    """Sort key: src/, tools/, then tests/."""
    relative = source.relative_to(ROOT)
    return relative.parts[0] == "tests", relative.parts[0] == "tools", relative


def pending(build: Path, only: list[str]) -> tuple[int, dict[Path, Path]]:
    """The number of sources; and those not known to be clean, with the file that will say so."""
    version = subprocess.run(
        [CLANG_TIDY, "--version"], capture_output=True, text=True, check=True
    ).stdout
    cache = cache_dir()
    sources = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        source = Path(entry["file"]).resolve()
        name = str(source.relative_to(ROOT)) if source.is_relative_to(ROOT) else "build/"
        if not name.startswith("build/") and (not only or any(part in name for part in only)):
            sources[source] = cache / digest(source, entry["command"], version)
    waiting = {source: clean for source, clean in sources.items() if not clean.exists()}
    return len(sources), waiting


def main() -> int:
    """Prints the findings; 1 if there is one."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("build", type=Path, help="a configured build tree (--preset tidy)")
    parser.add_argument(
        "only", nargs="*", help="check the sources whose path contains one of these"
    )
    parser.add_argument(
        "--seconds", type=float, default=float("inf"), help="start no check after this time"
    )
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count(), help="checks at a time")
    arguments = parser.parse_args()
    end = time.monotonic() + arguments.seconds
    sources, waiting = pending(arguments.build, arguments.only)
    checked = findings = 0

    def check_in_time(source: Path) -> tuple[str, float] | None:
        return check(source, arguments.build) if time.monotonic() < end else None

    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        order = sorted(waiting, key=library_first)
        for source, result in zip(order, pool.map(check_in_time, order)):
            if result is None:
                continue
            said, seconds = result
            checked += 1
            name = source.relative_to(ROOT)
            print(f"[{checked}/{len(waiting)}] {name} ({seconds:.0f} s)", flush=True)
            if said:
                findings += 1
                print(said, flush=True)
            else:
                waiting[source].touch()
    print(
        f"clang-tidy: {findings} of {sources} sources have findings; {sources - len(waiting)} were "
        f"known to be clean, {checked} checked, {len(waiting) - checked} left for the next run"
    )
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
