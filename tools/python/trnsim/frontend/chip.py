# SPDX-License-Identifier: Apache-2.0
# The tile limits of a chip, read from the simulator's own chip files.
"""What the frontend has to know about a chip: read from the file that the simulator reads."""

from __future__ import annotations

import json
import os
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trnsim.frontend.errors import UserError

CONFIG_VARIABLE = "TRNSIM_CONFIG_DIR"
"""Environment variable that names the folder `configs`."""

SHORT_NAMES = {
    "inf1": "inferentia1", "inf2": "inferentia2", "trn1": "trainium1", "trn2": "trainium2",
    "trn3": "trainium3", "trn4": "trainium4",
}


@dataclass(frozen=True)
class Chip:
    """Limits of one NeuronCore. Sizes are those of one partition unless they say otherwise."""

    name: str
    generation: int  # 2, 3, 4: NeuronCore-v2, -v3, -v4
    partitions: int
    sbuf_partition_bytes: int
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


def config_directory() -> Path:
    """The folder with `chips/`: $TRNSIM_CONFIG_DIR, the source tree's, or the installed one."""
    named = os.environ.get(CONFIG_VARIABLE)
    candidates = [Path(named)] if named else [
        Path(__file__).resolve().parents[4] / "configs",
        Path(sysconfig.get_path("data")) / "share" / "trnsim" / "configs",
        Path("/usr/local/share/trnsim/configs"),
    ]
    for candidate in candidates:
        if (candidate / "chips").is_dir():
            return candidate
    tried = ", ".join(str(one) for one in candidates)
    raise UserError(f"no folder configs/chips in {tried}; set {CONFIG_VARIABLE} to the folder "
                    "`configs` of trnsim")


def load_chip(name: str) -> Chip:
    """The chip with a short name (`trn2`), a long one (`trainium2`), or in a JSON file.

    UserError if there is none, or if it has no NeuronCore that NKI can program.
    """
    path = Path(name)
    if path.suffix != ".json":
        folder = config_directory() / "chips"
        path = folder / f"{SHORT_NAMES.get(name, name)}.json"
        if not path.is_file():
            known = ", ".join(sorted(SHORT_NAMES))
            raise UserError(f"chip {name!r}: there is no {path}; use one of {known}, or a file")
    try:
        return _from_file(name, path, json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as problem:
        raise UserError(f"{path}: {problem}; a chip file is JSON") from problem


def _from_file(name: str, path: Path, root: dict[str, Any]) -> Chip:
    def value(pointer: str) -> Any:
        node: Any = root
        for part in pointer.strip("/").split("/"):
            if not isinstance(node, dict) or part not in node:
                raise UserError(f"{path}: {pointer} is missing; a chip that NKI can program has it")
            node = node[part]
        return node["value"] if isinstance(node, dict) and "value" in node else node

    version = value("/neuron_core_version")
    if version not in (2, 3, 4):
        raise UserError(f"{path}: /neuron_core_version is {version!r}, but NKI programs NeuronCore "
                        "versions 2, 3 and 4; choose another chip")
    return Chip(
        name=name,
        generation=version,
        partitions=value("/neuron_core/sbuf/partitions"),
        sbuf_partition_bytes=value("/neuron_core/sbuf/partition_kib") * 1024,
        psum_banks=value("/neuron_core/psum/banks"),
        psum_bank_bytes=value("/neuron_core/psum/bank_bytes"),
        pe_rows=value("/neuron_core/tensor_engine/pe_rows"),
        pe_columns=value("/neuron_core/tensor_engine/pe_columns"),
        moving_free_max_32bit=value("/neuron_core/tensor_engine/moving_free_max_32bit"),
        moving_free_max_16bit=value("/neuron_core/tensor_engine/moving_free_max_16bit"),
    )
