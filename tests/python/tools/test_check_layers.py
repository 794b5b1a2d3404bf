# SPDX-License-Identifier: Apache-2.0
"""tools/check_layers.py finds what breaks the layers."""

from __future__ import annotations

from typing import Any

LAYERS = """
trnsim_layer(base)
trnsim_layer(timing USES base)
trnsim_layer(hw     USES timing PUBLIC_LIBRARIES SystemC::systemc)
trnsim_layer(report USES hw)
"""


def test_a_tree_that_keeps_the_layers_passes(run_check: Any) -> None:
    done = run_check(
        "check_layers.py",
        {
            "src/CMakeLists.txt": LAYERS,
            "include/trnsim/dma/ring_timing.hpp": '#include "trnsim/base/units.hpp"\n',
            "include/trnsim/dma/ring.hpp": '#include <systemc>\n#include "trnsim/dma/ring_timing.hpp"\n',
            "src/dma/ring.cpp": '#include "trnsim/dma/ring.hpp"\n',
            "src/dma/CMakeLists.txt": "trnsim_sources(hw ring.cpp)\n",
        },
    )
    assert (done.returncode, done.stdout) == (0, "layers: 4 layers hold\n")


def test_an_include_of_a_higher_layer_is_named_with_its_line(run_check: Any) -> None:
    header = '#pragma once\n#include "trnsim/report/table.hpp"\n'
    done = run_check(
        "check_layers.py",
        {"src/CMakeLists.txt": LAYERS, "include/trnsim/dma/ring_timing.hpp": header},
    )
    assert done.returncode == 1
    assert done.stdout.startswith(
        "include/trnsim/dma/ring_timing.hpp:2: a file of layer timing includes report/table.hpp of "
        "layer report, allowed are base, timing"
    )


def test_a_private_header_of_a_higher_layer_is_found_too(run_check: Any) -> None:
    done = run_check(
        "check_layers.py",
        {
            "src/CMakeLists.txt": LAYERS,
            "src/base/CMakeLists.txt": "trnsim_sources(base text.cpp)\n",
            "src/base/text.cpp": '#include "../report/table.hpp"\n',
            "src/report/table.hpp": "#pragma once\n",
        },
    )
    assert "src/base/text.cpp:1: a file of layer base includes report/table.hpp" in done.stdout


def test_systemc_stays_out_of_timing_and_out_of_layers_that_do_not_link_it(run_check: Any) -> None:
    done = run_check(
        "check_layers.py",
        {
            "src/CMakeLists.txt": LAYERS,
            "include/trnsim/dma/ring_timing.hpp": "#include <systemc>\n",
            "include/trnsim/report/table.hpp": "#include <tlm>\n",
        },
    )
    assert "include/trnsim/dma/ring_timing.hpp:1: includes <systemc>" in done.stdout
    assert "include/trnsim/report/table.hpp:1: includes <tlm>" in done.stdout


def test_a_circle_of_headers_is_spelled_out(run_check: Any) -> None:
    done = run_check(
        "check_layers.py",
        {
            "src/CMakeLists.txt": LAYERS,
            "include/trnsim/base/a.hpp": '#include "trnsim/base/b.hpp"\n',
            "include/trnsim/base/b.hpp": '#include "trnsim/base/a.hpp"\n',
        },
    )
    assert "base/a.hpp -> base/b.hpp -> base/a.hpp" in done.stdout


def test_a_circle_of_folders_is_spelled_out(run_check: Any) -> None:
    """One by way of headers and sources of a layer, which are no circle themselves."""
    done = run_check(
        "check_layers.py",
        {
            "src/CMakeLists.txt": LAYERS,
            "src/hw/CMakeLists.txt": "trnsim_sources(hw order/a.cpp)\n",
            "src/hw/order/a.cpp": '#include "trnsim/hw/tiles/c.hpp"\n',
            "include/trnsim/hw/order/b.hpp": "",
            "include/trnsim/hw/tiles/c.hpp": "",
            "include/trnsim/hw/tiles/d.hpp": '#include "trnsim/hw/order/b.hpp"\n'
            '#include "trnsim/hw/tiles/c.hpp"\n',
        },
    )
    assert done.returncode == 1
    assert done.stdout == (
        "src/hw/order: folders include each other: hw/order -> hw/tiles -> hw/order; move a file\n"
    )


def test_a_source_that_no_list_names_is_found(run_check: Any) -> None:
    done = run_check(
        "check_layers.py",
        {"src/CMakeLists.txt": LAYERS, "src/dma/ring_timing.cpp": ""},
    )
    assert done.stdout == (
        "src/dma/ring_timing.cpp: is not built; add it to trnsim_sources(timing ...) of its folder\n"
    )


def test_a_source_in_the_wrong_layer_is_found(run_check: Any) -> None:
    done = run_check(
        "check_layers.py",
        {
            "src/CMakeLists.txt": LAYERS,
            "src/dma/CMakeLists.txt": "trnsim_sources(hw ring_timing.cpp)\n",
            "src/dma/ring_timing.cpp": "",
        },
    )
    assert "is built into hw, its name says timing" in done.stdout
