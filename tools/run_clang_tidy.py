#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy over the sources of a build tree, in parallel, remembering what was clean.

A source is checked again only when it, a header of ours it includes (directly or not), its compile
command or .clang-tidy changed. The memory is in $XDG_CACHE_HOME/trnsim (~/.cache by default). With
--seconds, the library comes first and what is left when the time is up waits for the next run.

Of the time that clang-tidy takes for a small test, three quarters go to the headers of others
(GoogleTest, SystemC, simdjson), which every check visits anew for every source. Sources of one folder
that compile alike and define no name twice are therefore checked as one text; a source in which that
finds something is checked again by itself, and only what is found then counts.
"""

from __future__ import annotations

import argparse
import bisect
import concurrent.futures
import hashlib
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CLANG_TIDY = "clang-tidy-14"
FILE_ARGUMENTS = re.compile(r" -[oc] \S+")
INCLUDE = re.compile(r"\s*#\s*include\s*(\S+)")
DEFINITION = re.compile(
    r"^(?:#\s*define|(?!using|namespace|template|TEST|INST)[A-Za-z[].*?)"  # Not indented,
    r"\b(\w(?:[\w:~]*\w)?)\s*(?:[({=;[]|:(?!:)|$)",  # the first word followed by one of these.
    re.MULTILINE,
)
USING = re.compile(r"^using [\w:]*?(\w+);", re.MULTILINE)
FINDING = re.compile(r"^(\S+?):(\d+):\d+: (?:error|warning): (.*)$", re.MULTILINE)
MOST_TOGETHER = 10
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


def clang_tidy(build: Path, source: Path) -> str:
    """What clang-tidy says about one source; empty when clean."""
    run = subprocess.run(
        [CLANG_TIDY, "--quiet", f"--config-file={ROOT / '.clang-tidy'}", "-p", build, source],
        capture_output=True,
        text=True,
        check=False,
    )
    return "" if run.returncode == 0 else run.stdout + run.stderr


def uses_all_it_names(text: str) -> bool:
    """Whether each `using a::b` is needed; in a text of many sources clang-tidy cannot tell."""
    return all(len(re.findall(rf"\b{name}\b", text)) > 1 for name in USING.findall(text))


def groups_of(sources: list[Path], commands: dict[Path, str]) -> list[list[Path]]:
    """The sources in the given order, together where they can be one text."""
    groups: list[tuple[tuple[Path, str], set[str], list[Path]]] = []
    for source in sources:
        text = source.read_text()
        names = set(DEFINITION.findall(text))
        likeness = (source.parent, FILE_ARGUMENTS.sub("", commands[source]))
        if not uses_all_it_names(text):
            likeness = (source, "")
        for alike, taken, members in groups:
            if alike == likeness and not taken & names and len(members) < MOST_TOGETHER:
                members.append(source)
                taken |= names
                break
        else:
            groups.append((likeness, names, [source]))
    return [members for _, _, members in groups]


def one_text(sources: list[Path]) -> tuple[str, list[int]]:
    """The sources one after the other, each header included once; and the last line of each."""
    included: set[str] = set()
    lines: list[str] = []
    ends = []
    for source in sources:
        before = set(included)
        for line in source.read_text().splitlines():
            include = INCLUDE.match(line)
            if include:
                included.add(include[1])
            lines.append("" if include and include[1] in before else line)
        ends.append(len(lines))
    return "\n".join(lines) + "\n", ends


def suspects(sources: list[Path], command: str, build: Path) -> list[Path]:
    """The sources that are perhaps not clean: something is found in them as one text."""
    text, ends = one_text(sources)
    with tempfile.TemporaryDirectory(dir=build) as folder:
        together = Path(folder) / "together.cpp"
        together.write_text(text)
        alike = FILE_ARGUMENTS.sub("", command)
        entry = {
            "directory": str(build.resolve()),
            "file": str(together),
            "command": f"{alike} -iquote {sources[0].parent} -c {together}",
        }
        (Path(folder) / "compile_commands.json").write_text(json.dumps([entry]))
        said = clang_tidy(Path(folder), together)
    found = FINDING.findall(said)
    if said and not all(file.endswith("/together.cpp") for file, _, _ in found):
        return sources
    doubtful = [sources[i] for i in sorted({bisect.bisect_left(ends, int(n)) for _, n, _ in found})]
    others = [source for source in sources if source not in doubtful]
    if others and any("clang-diagnostic" in what for _, _, what in found):  # It gave up early.
        return doubtful + suspects(others, command, build)
    return doubtful


def check(sources: list[Path], commands: dict[Path, str], build: Path) -> dict[Path, str]:
    """What clang-tidy says about each source; empty when clean."""
    if len(sources) == 1:
        return {sources[0]: clang_tidy(build, sources[0])}
    doubtful = suspects(sources, commands[sources[0]], build)
    return {source: clang_tidy(build, source) if source in doubtful else "" for source in sources}


def library_first(source: Path) -> tuple[bool, bool, Path]:
    """Sort key: src/, tools/, then tests/."""
    relative = source.relative_to(ROOT)
    return relative.parts[0] == "tests", relative.parts[0] == "tools", relative


def pending(build: Path, only: list[str]) -> tuple[dict[Path, str], dict[Path, Path]]:
    """The sources' commands; and the sources not known to be clean, with the file to say so."""
    version = subprocess.run(
        [CLANG_TIDY, "--version"], capture_output=True, text=True, check=True
    ).stdout
    cache = cache_dir()
    commands = {}
    sources = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        source = Path(entry["file"]).resolve()
        name = str(source.relative_to(ROOT)) if source.is_relative_to(ROOT) else "build/"
        if not name.startswith("build/") and (not only or any(part in name for part in only)):
            commands[source] = entry["command"]
            sources[source] = cache / digest(source, entry["command"], version)
    waiting = {source: clean for source, clean in sources.items() if not clean.exists()}
    return commands, waiting


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
    commands, waiting = pending(arguments.build, arguments.only)
    checked = findings = 0

    def check_in_time(sources: list[Path]) -> dict[Path, str]:
        return check(sources, commands, arguments.build) if time.monotonic() < end else {}

    groups = groups_of(sorted(waiting, key=library_first), commands)
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for done in concurrent.futures.as_completed(
            pool.submit(check_in_time, group) for group in groups
        ):
            for source, said in done.result().items():
                checked += 1
                print(f"[{checked}/{len(waiting)}] {source.relative_to(ROOT)}", flush=True)
                if said:
                    findings += 1
                    print(said, flush=True)
                else:
                    waiting[source].touch()
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(
        f"clang-tidy: {findings} of {len(commands)} sources have findings; "
        f"{len(commands) - len(waiting)} were known to be clean, {checked} checked in "
        f"{(spent.ru_utime + spent.ru_stime) / 60:.1f} processor minutes, "
        f"{len(waiting) - checked} left for the next run"
    )
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
