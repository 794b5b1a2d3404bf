#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the includes of include/ and src/ to the layers declared in src/CMakeLists.txt.

1. A file includes only headers of its own layer and of the layers below.
2. SystemC is included only by layers that link it, and never by one of the suffixes below.
3. Headers do not include each other in a circle.
4. Every .cpp below src/ is built: its folder's CMakeLists.txt names it, in a layer that fits.
5. The folders inside of a layer's folder (lowering/order, ...) do not include each other in a circle.

A folder named like a layer is that layer. In a block's folder (neuron_core, dma, memory, ...) the
suffix decides: *_spec belongs to `spec`, *_cost, *_timing and *_stats to `timing`. Any other header
belongs to the layer that lists it under HEADERS, or where the .cpp of its name is built, or to `hw`.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import re
import sys
from collections.abc import Iterable
from pathlib import Path

SUFFIX_LAYERS = {"_spec": "spec", "_cost": "timing", "_timing": "timing", "_stats": "timing"}
BLOCK_LAYER = "hw"
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)
SYSTEMC = re.compile(r"(systemc|tlm)(\.h)?$|(sysc|tlm_utils|tlm_core)/")
LAYER = re.compile(r"trnsim_layer\(([^)]*)\)")
SOURCES = re.compile(r"trnsim_sources\(\s*(\w+)([^)]*)\)")


@dataclasses.dataclass(frozen=True)
class Layer:
    """One library of src/CMakeLists.txt."""

    headers: tuple[str, ...]
    below: frozenset[str]
    links_systemc: bool


@dataclasses.dataclass(frozen=True)
class Tree:
    """What CMake says of the checked tree."""

    root: Path
    layers: dict[str, Layer]
    built: dict[str, str]


def read_layers(cmake: Path) -> dict[str, Layer]:
    """The declared layers, each with everything below it."""
    layers: dict[str, Layer] = {}
    for match in LAYER.finditer(cmake.read_text()):
        name, *words = match.group(1).split()
        values: dict[str, list[str]] = collections.defaultdict(list)
        keyword = ""
        for word in words:
            if word.isupper():
                keyword = word
            else:
                values[keyword].append(word)
        uses = values["USES"]
        below = set(uses)
        for used in uses:
            if used not in layers:
                sys.exit(
                    f"{cmake}: layer {name} uses {used}, which is not declared above it; "
                    "declare it first"
                )
            below |= layers[used].below
        headers = tuple(values["HEADERS"])
        layers[name] = Layer(headers, frozenset(below), "SystemC::systemc" in words)
    return layers


def read_built(src: Path) -> dict[str, str]:
    """The layer that builds a source, by its path without suffix, relative to src/."""
    built: dict[str, str] = {}
    for cmake in src.rglob("CMakeLists.txt"):
        folder = cmake.parent.relative_to(src)
        for layer, names in SOURCES.findall(cmake.read_text()):
            built.update({str((folder / name).with_suffix("")): layer for name in names.split()})
    return built


def named_layer(path: Path, layers: Iterable[str]) -> str | None:
    """The layer that folder or suffix give a file, relative to include/trnsim/ or src/."""
    if path.parts[0] in layers:
        return path.parts[0]
    suffixes = (suffix for suffix in SUFFIX_LAYERS if path.stem.endswith(suffix))
    return next((SUFFIX_LAYERS[suffix] for suffix in suffixes), None)


def layer_of(path: Path, tree: Tree) -> str:
    """The layer of a file, relative to include/trnsim/ or src/."""
    for name, layer in tree.layers.items():
        if str(path) in layer.headers:
            return name
    built = tree.built.get(str(path.with_suffix("")), BLOCK_LAYER)
    return named_layer(path, tree.layers) or built


def includes(path: Path, base: Path) -> list[tuple[int, str, bool]]:
    """(line, name, is ours) of every include; ours relative to include/trnsim/ or src/."""
    text = path.read_text()
    found = []
    for match in INCLUDE.finditer(text):
        quoted, angled = match.groups()
        line = text.count("\n", 0, match.start(match.lastindex or 0)) + 1
        if quoted is None:
            found.append((line, angled, False))
        elif quoted.startswith("trnsim/"):
            found.append((line, quoted.removeprefix("trnsim/"), True))
        else:
            private = (path.parent / quoted).resolve()
            found.append(
                (line, str(private.relative_to(base)) if private.exists() else quoted, True)
            )
    return found


def check_includes(tree: Tree) -> list[str]:
    """Rules 1 and 2."""
    errors = []
    for base in (tree.root / "include" / "trnsim", tree.root / "src"):
        for path in sorted(base.rglob("*.[ch]pp")):
            layer = layer_of(path.relative_to(base), tree)
            allowed = tree.layers[layer].below | {layer}
            plain = any(path.stem.endswith(suffix) for suffix in SUFFIX_LAYERS)
            for line, name, ours in includes(path, base):
                where = f"{path.relative_to(tree.root)}:{line}"
                if ours and (target := layer_of(Path(name), tree)) not in allowed:
                    errors.append(
                        f"{where}: a file of layer {layer} includes {name} of layer {target}, "
                        f"allowed are {', '.join(sorted(allowed))}; move the code or declare the layer in "
                        "src/CMakeLists.txt"
                    )
                if (
                    not ours
                    and SYSTEMC.match(name)
                    and (plain or not tree.layers[layer].links_systemc)
                ):
                    errors.append(
                        f"{where}: includes <{name}>, only modules of layers that link SystemC "
                        "may; keep SystemC out of specs, timing functions and statistics"
                    )
    return errors


def circles(graph: dict[str, list[str]]) -> list[str]:
    """One text like `a -> b -> a` for every circle that is met."""
    found: list[str] = []
    finished: set[str] = set()

    def visit(node: str, stack: list[str]) -> None:
        if node in stack:
            found.append(" -> ".join([*stack[stack.index(node) :], node]))
        elif node not in finished:
            for other in graph.get(node, []):
                visit(other, [*stack, node])
            finished.add(node)

    for node in graph:
        visit(node, [])
    return found


def check_circles(root: Path) -> list[str]:
    """Rule 3."""
    base = root / "include" / "trnsim"
    graph = {
        str(path.relative_to(base)): [name for _, name, ours in includes(path, base) if ours]
        for path in sorted(base.rglob("*.hpp"))
    }
    return [
        f"include/trnsim/{circle.partition(' ')[0]}: headers include each other: {circle}; break the circle"
        for circle in circles(graph)
    ]


def check_folders(root: Path) -> list[str]:
    """Rule 5."""
    graph: dict[str, set[str]] = collections.defaultdict(set)
    for base in (root / "include" / "trnsim", root / "src"):
        for path in sorted(base.rglob("*.[ch]pp")):
            folder = path.relative_to(base).parent
            if len(folder.parts) > 1:
                others = {str(Path(name).parent) for _, name, ours in includes(path, base) if ours}
                graph[str(folder)] |= {other for other in others if "/" in other} - {str(folder)}
    return [
        f"src/{circle.partition(' ')[0]}: folders include each other: {circle}; move a file"
        for circle in circles({folder: sorted(others) for folder, others in sorted(graph.items())})
    ]


def check_built(tree: Tree) -> list[str]:
    """Rule 4."""
    errors = []
    src = tree.root / "src"
    for path in sorted(path.relative_to(src) for path in src.rglob("*.cpp")):
        builds = tree.built.get(str(path.with_suffix("")))
        named = named_layer(path, tree.layers)
        if builds is None:
            errors.append(
                f"src/{path}: is not built; add it to trnsim_sources({named or BLOCK_LAYER} ...) of "
                "its folder"
            )
        elif named not in (None, builds):
            errors.append(
                f"src/{path}: is built into {builds}, its name says {named}; move or rename it"
            )
    return errors


def main() -> int:
    """Prints one line per finding; 1 if there is one."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument(
        "root", type=Path, nargs="?", default=Path(__file__).resolve().parent.parent
    )
    root = parser.parse_args().root.resolve()
    src = root / "src"
    tree = Tree(root, read_layers(src / "CMakeLists.txt"), read_built(src))
    errors = [
        *check_includes(tree), *check_circles(root), *check_built(tree), *check_folders(root)
    ]
    print("\n".join(errors) or f"layers: {len(tree.layers)} layers hold")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
