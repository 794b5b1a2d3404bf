# SPDX-License-Identifier: Apache-2.0
# nl.tile_size: the tile limits of the traced chip.
"""Tile limits, those of the chip that is traced for. [NKI-LANGUAGE]"""

from __future__ import annotations

from trnsim.frontend import recorder
from trnsim.frontend.chip import Chip
from trnsim.frontend.dtypes import float32
from trnsim.frontend.legality.vector import BN_STATS_FREE_MAX

PSUM_ALIGNMENT = 4
SBUF_ALIGNMENT = 1
"""Bytes to which on-chip addresses are aligned. [NKI-KLR]"""


class TileSize:
    """Read like constants: nl.tile_size.pmax and so on."""

    @property
    def _chip(self) -> Chip:
        return recorder.target()

    @property
    def pmax(self) -> int:
        """Partitions of a tile."""
        return self._chip.partitions

    @property
    def psum_fmax(self) -> int:
        """float32 elements per partition of a PSUM bank."""
        return self._chip.psum_bank_bytes // float32.itemsize

    psum_bank_fmax = psum_fmax

    @property
    def psum_bank_fmax_bytes(self) -> int:
        """Bytes per partition of a PSUM bank."""
        return self._chip.psum_bank_bytes

    @property
    def gemm_stationary_fmax(self) -> int:
        """Columns of the stationary operand of a matmul."""
        return self._chip.pe_columns

    @property
    def gemm_moving_fmax(self) -> int:
        """Columns of the moving operand of a matmul that fit one PSUM bank."""
        return self._chip.psum_bank_bytes // float32.itemsize

    @property
    def bn_stats_fmax(self) -> int:
        """Elements per partition of one bn_stats."""
        return BN_STATS_FREE_MAX

    @property
    def psum_min_align(self) -> int:
        """Alignment of PSUM addresses in bytes."""
        return PSUM_ALIGNMENT

    @property
    def sbuf_min_align(self) -> int:
        """Alignment of SBUF addresses in bytes."""
        return SBUF_ALIGNMENT

    @property
    def psum_num_banks(self) -> int:
        """PSUM banks per partition."""
        return self._chip.psum_banks

    @property
    def sbuf_size_bytes(self) -> int:
        """Bytes of all partitions of SBUF."""
        return self._chip.sbuf_partition_bytes * self._chip.partitions

    @property
    def sbuf_fmax(self) -> int:
        """float32 elements per partition of the largest tile in SBUF."""
        return self._chip.sbuf_usable_bytes // float32.itemsize

    @property
    def sbuf_fmax_bytes(self) -> int:
        """Bytes per partition of the largest tile in SBUF."""
        return self._chip.sbuf_usable_bytes

    @property
    def total_available_sbuf_size(self) -> int:
        """The older name of `sbuf_fmax_bytes`."""
        return self._chip.sbuf_usable_bytes


tile_size = TileSize()
