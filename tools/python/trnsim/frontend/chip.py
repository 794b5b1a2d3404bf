# SPDX-License-Identifier: Apache-2.0
# The tile limits of a chip, read from the simulator's own chip files.
"""What the frontend has to know about a chip: read from the file that the simulator reads."""

from __future__ import annotations

import json
import os
import sysconfig
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trnsim.errors import UserError

CONFIG_VARIABLE = "TRNSIM_CONFIG_DIR"
"""Environment variable that names the folder `configs`."""
TARGET_VARIABLE = "NEURON_PLATFORM_TARGET_OVERRIDE"
"""Environment variable of the Neuron SDK that names the chip kernels are compiled for."""
TARGETS = {"trn1": "trn1", "gen2": "trn1", "inf2": "inf2", "trn2": "trn2", "gen3": "trn2",
           "trn3": "trn3", "gen4": "trn3"}
"""The chips that its values mean. [NKI-SIMULATOR]"""
DEFAULT = "trn2"
GENERATIONS = (2, 3, 4)
"""Versions of the NeuronCore that NKI programs."""
MOST = 2**31
"""What a limit is below."""
LIMITS = ("neuron_core_version", "neuron_core.sbuf.partitions", "neuron_core.sbuf.partition_kib",
          "neuron_core.sbuf.usable_partition_kib", "neuron_core.psum.banks",
          "neuron_core.psum.bank_bytes", "neuron_core.tensor_engine.pe_rows",
          "neuron_core.tensor_engine.pe_columns",
          "neuron_core.tensor_engine.moving_free_max_32bit",
          "neuron_core.tensor_engine.moving_free_max_16bit")
"""What of a chip kernels are recorded with, as in limits_among() of the simulator."""


@dataclass(frozen=True)
class Chip:
    """Limits of one NeuronCore. Sizes are those of one partition unless they say otherwise."""

    name: str
    generation: int  # 2, 3, 4: NeuronCore-v2, -v3, -v4
    partitions: int
    sbuf_partition_bytes: int
    sbuf_usable_bytes: int
    """What tiles whose addresses the program does not fix may take of it."""
    psum_banks: int
    psum_bank_bytes: int
    pe_rows: int
    pe_columns: int
    moving_free_max_32bit: int
    moving_free_max_16bit: int

    @property
    def psum_partition_bytes(self) -> int:
        return self.psum_banks * self.psum_bank_bytes

    @property
    def neuron_core(self) -> str:
        """For messages."""
        return f"NeuronCore-v{self.generation}"


_target: Chip | None = None


def config_directory() -> Path:
    """The folder with `chips/`: $TRNSIM_CONFIG_DIR, the source tree's, or the installed one.

    UserError if there is none: about the simulator, if that is not there either.
    """
    named = os.environ.get(CONFIG_VARIABLE)
    above = list(Path(__file__).resolve().parents)
    candidates = [Path(named)] if named else [
        *(folder / "configs" for folder in above[3:5]),
        Path(sysconfig.get_path("data")) / "share" / "trnsim" / "configs",
        Path("/usr/local/share/trnsim/configs"), *_beside_the_simulator(),
    ]
    for candidate in candidates:
        if (candidate / "chips").is_dir():
            return candidate
    if not named:
        _simulator()
    tried = ", ".join(str(one) for one in candidates)
    raise UserError(f"no folder configs/chips in {tried}; set {CONFIG_VARIABLE} to the folder "
                    "`configs` of trnsim")


def _beside_the_simulator() -> list[Path]:
    """Where the files of a simulator are that this package is not installed with."""
    from trnsim.binary import share_folders

    try:
        return [folder / "configs" for folder in share_folders(_simulator())]
    except UserError:
        return []


def _simulator() -> Path:
    from trnsim.binary import find_binary

    return find_binary()


def default_chip() -> str:
    """The chip where none is named: that of the environment, else trn2. UserError for another."""
    named = os.environ.get(TARGET_VARIABLE)
    if not named:
        return DEFAULT
    if named not in TARGETS:
        raise UserError(f"{TARGET_VARIABLE}: {named!r} is not a target, targets are "
                        f"{', '.join(TARGETS)}; set one of them or unset the variable")
    return TARGETS[named]


def load_chip(name: str, settings: Sequence[str] = ()) -> Chip:
    """The chip with a short name (`trn2`), a long one (`trainium2`), or in a JSON file, with what
    settings PATH=VALUE change of its limits; the simulator checks them.

    UserError if there is none, or if it has no NeuronCore that NKI can program.
    """
    path = file_of(name)
    try:
        root = json.loads(path.read_text(encoding="utf-8"))
        return _from_file(name, path, root, _numbers(settings))
    except (OSError, ValueError) as problem:
        raise UserError(f"{path}: {problem}; a chip file is JSON") from problem


def file_of(name: str) -> Path:
    """The file of a chip with that name, short name or path. UserError if there is none."""
    if Path(name).suffix == ".json":
        return Path(name)
    folder = config_directory() / "chips"
    names: list[str] = []
    for path in sorted(folder.glob("*.json")):
        found = json.loads(path.read_text(encoding="utf-8"))
        short = found.get("short_name", path.stem)
        if name in (path.stem, short):
            return path
        names.append(short)
    raise UserError(f"chip {name!r}: {folder} has {', '.join(names) or 'no chips'}; use one of "
                    "them, or name a chip file")


def short_name(name: str) -> str:
    """`trn2` for `trainium2`; the name of a file, and of no chip, as it is."""
    if Path(name).suffix == ".json":
        return name
    try:
        found = json.loads(file_of(name).read_text(encoding="utf-8"))
    except (UserError, OSError, ValueError):  # Whoever loads it says so.
        return name
    return str(found.get("short_name", name))


def target() -> Chip:
    """The chip that module-level code of a kernel file is for: the last one named, else default."""
    global _target
    if _target is None:
        _target = load_chip(default_chip())
    return _target


def set_target(chip: Chip) -> None:
    """Names the chip for module-level code."""
    global _target
    _target = chip


def require_limits(settings: Sequence[str]) -> None:
    """UserError for a setting that no kernel is recorded with, or a value that no limit has."""
    for setting in settings:
        if setting.partition("=")[0] not in LIMITS:
            raise UserError(f"settings: {setting} is none that a kernel is recorded with, as "
                            f"{', '.join(LIMITS)}; leave it out, and give it to simulate")
        if not _numbers([setting]):
            raise UserError(f"settings: {setting} is no value of a limit; give a whole number")


def _numbers(settings: Sequence[str]) -> dict[str, int]:
    """By pointer, the settings that a limit may have; the simulator refuses others."""
    numbers: dict[str, int] = {}
    for setting in settings:
        name, _, text = setting.partition("=")
        with suppress(ValueError):
            number = float(text)
            if not (1 <= number < MOST and number.is_integer()):
                continue
            if name != "neuron_core_version" or number in GENERATIONS:
                numbers["/" + name.replace(".", "/")] = int(number)
    return numbers


def _from_file(name: str, path: Path, root: dict[str, Any],
               changed: Mapping[str, int]) -> Chip:
    def value(pointer: str) -> Any:
        node: Any = root
        if pointer in changed:
            return changed[pointer]
        for part in pointer.strip("/").split("/"):
            if not isinstance(node, dict) or part not in node:
                raise UserError(f"{path}: {pointer} is missing; a chip that NKI can program has it")
            node = node[part]
        return node["value"] if isinstance(node, dict) and "value" in node else node

    version = value("/neuron_core_version")
    if version not in GENERATIONS:
        raise UserError(f"{path}: /neuron_core_version is {version!r}, but NKI programs NeuronCore "
                        "versions 2, 3 and 4; choose another chip")
    is_file = Path(name).suffix == ".json"
    return Chip(
        name=str(root.get("short_name", path.stem)) if is_file else name,
        generation=version,
        partitions=value("/neuron_core/sbuf/partitions"),
        sbuf_partition_bytes=value("/neuron_core/sbuf/partition_kib") * 1024,
        sbuf_usable_bytes=value("/neuron_core/sbuf/usable_partition_kib") * 1024,
        psum_banks=value("/neuron_core/psum/banks"),
        psum_bank_bytes=value("/neuron_core/psum/bank_bytes"),
        pe_rows=value("/neuron_core/tensor_engine/pe_rows"),
        pe_columns=value("/neuron_core/tensor_engine/pe_columns"),
        moving_free_max_32bit=value("/neuron_core/tensor_engine/moving_free_max_32bit"),
        moving_free_max_16bit=value("/neuron_core/tensor_engine/moving_free_max_16bit"),
    )
