#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy over the sources of a build tree, in parallel, remembering what was clean.

A source is checked again only when it, a header of ours it includes (directly or not), its compile
command or .clang-tidy changed. The memory is in $XDG_CACHE_HOME/trnsim (~/.cache by default). What
git says was changed last comes first; with --seconds, what is not done in time waits for the next
run.

Of the time that clang-tidy takes for a small test, nine tenths go to the headers of others
(GoogleTest, SystemC, simdjson). A plugin keeps the checks out of them; and sources that define no
name twice, be they of many folders, are checked as one text, so that headers are read once. A
source in which that finds something is checked again by itself, and only what is found then
counts. The analyzer (clang-analyzer-*), which follows paths through functions, takes ten times as
long as all the rest and runs with --analyze.
"""

from __future__ import annotations

import argparse
import bisect
import concurrent.futures
import dataclasses
import hashlib
import json
import math
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLUGIN = ROOT / "tools" / "clang_tidy" / "ours_only.cpp"
CONFIGURATION = ROOT / ".clang-tidy"
CLANG_TIDY = "clang-tidy-14"
CLANG_HEADERS = "/usr/lib/llvm-14/include"
FILE_ARGUMENTS = re.compile(r" -[oc] \S+")
ARGUMENT = re.compile(r"\s+(?=-)")
INCLUDE = re.compile(r"\s*#\s*include\s*(\S+)")
DEFINITION = re.compile(
    r"^(?:#\s*define|(?!using [\w: ]+;|namespace|template|TEST|INST)[A-Za-z[].*?)"  # Not indented,
    r"\b(\w(?:[\w:~]*\w)?)\s*(?:[({=;[]|:(?!:)|$)",  # the first word followed by one of these.
    re.MULTILINE,
)
USING = re.compile(r"^using [\w:]*?(\w+);", re.MULTILINE)
FINDING = re.compile(r"^(\S+?):(\d+):\d+: (?:error|warning): (.*)$", re.MULTILINE)
MOST_TOGETHER = 20
NOT_ANALYZED = "-clang-analyzer-*"
ANALYZED = ".analyzed"  # Ends the file that says that a source is clean for the analyzer, too.
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
    for text in (version, command.replace(str(ROOT), "."), CONFIGURATION.read_text()):
        hasher.update(text.encode() + b"\0")
    for path in closure(source):
        hasher.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes() + b"\0")
    return hasher.hexdigest()


@dataclasses.dataclass(frozen=True)
class Check:
    """How sources are checked: with the compile commands of a build tree, until the time is up."""

    build: Path
    plugin: Path
    commands: dict[Path, str]
    end: float
    analyze: bool

    def together(self, sources: list[Path]) -> dict[Path, str]:
        """What clang-tidy says about each source done in time; empty when clean."""
        said: dict[Path, str] = {}
        try:
            doubtful = sources if len(sources) == 1 else self.suspects(sources)
            said = {source: "" for source in sources if source not in doubtful}
            for source in doubtful:
                said[source] = self.said_about(source, self.build)
        except subprocess.TimeoutExpired:
            pass
        return said

    def suspects(self, sources: list[Path]) -> list[Path]:
        """The sources that are perhaps not clean: something is found in them as one text."""
        text, ends = one_text(sources)
        with tempfile.TemporaryDirectory(dir=self.build) as folder:
            together = Path(folder) / "together.cpp"
            together.write_text(text)
            entry = {
                "directory": str(self.build.resolve()),
                "file": str(together),
                "command": f"{self.command_for_all(sources)} -c {together}",
            }
            (Path(folder) / "compile_commands.json").write_text(json.dumps([entry]))
            said = self.said_about(together, Path(folder))
        found = FINDING.findall(said)
        if said and not found:
            return sources
        doubtful: list[Path] = []
        for file, line, _ in found:
            if file.endswith("/together.cpp"):
                suspect = sources[bisect.bisect_left(ends, int(line))]
            else:  # One source is enough to see what is found in a header.
                header = Path(file).resolve()
                suspect = next((s for s in sources if header in closure(s)), sources[0])
            if suspect not in doubtful:
                doubtful.append(suspect)
        others = [source for source in sources if source not in doubtful]
        if others and any("clang-diagnostic" in what for _, _, what in found):  # It gave up early.
            return doubtful + self.suspects(others)
        return doubtful

    def command_for_all(self, sources: list[Path]) -> str:
        """The compiler, what any of the sources is compiled with, and the folders they lie in."""
        commands = [FILE_ARGUMENTS.sub("", self.commands[source]) for source in sources]
        commands += [f"-iquote {source.parent}" for source in sources]
        return " ".join(dict.fromkeys(a for command in commands for a in ARGUMENT.split(command)))

    def said_about(self, source: Path, build: Path) -> str:
        """What clang-tidy says about one source; empty when clean."""
        left = self.end - time.monotonic()
        run = subprocess.run(
            [
                CLANG_TIDY,
                "--quiet",
                f"--load={self.plugin}",
                f"--config-file={CONFIGURATION}",
                f"--checks={'' if self.analyze else NOT_ANALYZED}",
                "-p",
                build,
                source,
            ],
            capture_output=True,
            text=True,
            check=False,
            timeout=None if math.isinf(left) else max(left, 0),
        )
        return "" if run.returncode == 0 else run.stdout + run.stderr


def built_plugin(build: Path) -> Path:
    """The plugin that keeps the checks out of the headers of others, compiled when it changed."""
    library = build.resolve() / PLUGIN.with_suffix(".so").name
    if not library.exists() or library.stat().st_mtime < PLUGIN.stat().st_mtime:
        compiler = ["g++", "-std=c++17", "-fno-rtti", "-fPIC", "-shared", "-isystem", CLANG_HEADERS]
        subprocess.run([*compiler, PLUGIN, "-o", library], check=True)
    return library


def uses_all_it_names(text: str) -> bool:
    """Whether each `using a::b` is needed; in a text of many sources clang-tidy cannot tell."""
    return all(len(re.findall(rf"\b{name}\b", text)) > 1 for name in USING.findall(text))


def groups_of(sources: list[Path]) -> list[list[Path]]:
    """The sources in the given order, together where they can be one text."""
    groups: list[tuple[str, set[str], list[Path]]] = []
    for source in sources:
        text = source.read_text()
        names = set(DEFINITION.findall(text))
        likeness = layer(source) if uses_all_it_names(text) else str(source)
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


def layer(source: Path) -> str:
    """The folder at the top, src or tools, or a tier of tests: two tiers define the same names."""
    parts = source.relative_to(ROOT).parts
    return "/".join(parts[:2]) if parts[0] == "tests" else parts[0]


def git(*arguments: str) -> list[str]:
    """The lines git prints; none where there is no git."""
    command = ["git", "-C", ROOT, *arguments]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    return run.stdout.splitlines()


def ages() -> dict[str, int]:
    """By name without suffix: how many commits ago a source or its header changed, 0 if in none.

    In a shallow clone, all that did not change since comes with the oldest commit there is.
    """
    result = {Path(name).stem: 0 for name in git("diff", "--name-only", "HEAD")}
    age = 0
    for line in git("log", "--name-only", "--format=format:/"):  # No name begins with a slash.
        age += line == "/"
        result.setdefault(Path(line).stem, age)
    return result


def pending(
    build: Path, only: list[str], analyze: bool
) -> tuple[dict[Path, str], dict[Path, Path]]:
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
    analyzed = {source: clean.with_suffix(ANALYZED) for source, clean in sources.items()}
    waiting = {
        source: analyzed[source] if analyze else clean
        for source, clean in sources.items()
        if not analyzed[source].exists() and (analyze or not clean.exists())
    }
    return commands, waiting


def main() -> int:
    """Prints the findings; 1 if there is one."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("build", type=Path, help="a configured build tree (--preset tidy)")
    parser.add_argument(
        "only", nargs="*", help="check the sources whose path contains one of these"
    )
    parser.add_argument(
        "--seconds", type=float, default=float("inf"), help="stop after this time"
    )
    parser.add_argument("--analyze", action="store_true", help="run the analyzer, too")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count(), help="checks at a time")
    arguments = parser.parse_args()
    end = time.monotonic() + arguments.seconds
    commands, waiting = pending(arguments.build, arguments.only, arguments.analyze)
    plugin = built_plugin(arguments.build)
    check = Check(arguments.build, plugin, commands, end, arguments.analyze)
    age = ages()
    latest_first = sorted(waiting, key=lambda s: (age.get(s.stem, 0), layer(s), s))
    checked = findings = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for done in concurrent.futures.as_completed(
            pool.submit(check.together, group) for group in groups_of(latest_first)
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
