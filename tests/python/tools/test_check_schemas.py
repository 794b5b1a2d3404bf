# SPDX-License-Identifier: Apache-2.0
"""tools/check_schemas.py finds files that do not fit their schema."""

from __future__ import annotations

import json
from typing import Any

SCHEMA = json.dumps(
    {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {"clock_ghz": {"type": "number"}},
        "additionalProperties": False,
    }
)


def test_a_fitting_file_passes(run_check: Any) -> None:
    done = run_check(
        "check_schemas.py",
        {
            "configs/schema/chip.schema.json": SCHEMA,
            "configs/chips/c.json": '{"clock_ghz": 1.4}',
        },
    )
    assert (done.returncode, done.stdout) == (0, "schemas: 1 documents fit\n")


def test_a_wrong_type_is_named_with_its_pointer(run_check: Any) -> None:
    done = run_check(
        "check_schemas.py",
        {
            "configs/schema/chip.schema.json": SCHEMA,
            "configs/chips/c.json": '{"clock_ghz": "1.4"}',
        },
    )
    assert done.returncode == 1
    assert done.stdout.startswith("configs/chips/c.json: /clock_ghz: '1.4' is not of type 'number'")


def test_a_trace_is_checked_line_by_line(run_check: Any) -> None:
    done = run_check(
        "check_schemas.py",
        {
            "configs/schema/trace.schema.json": SCHEMA,
            "examples/traces/t.nkt": '{"clock_ghz": 1}\n{"clock": 1}\n',
        },
    )
    assert done.returncode == 1
    assert done.stdout.startswith("examples/traces/t.nkt:2: /: ")
