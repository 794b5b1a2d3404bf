# SPDX-License-Identifier: Apache-2.0
# When the values are those that a script gets from its kernels.
"""`trnsim run script.py` computes what the launch would, whenever a result is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import CommandLine
from script_kernels import ADDERS

IN_ORDER = f'''
import numpy as np
{ADDERS}

def is_all(array, value):
    return np.array_equal(np.asarray(array), np.full((128, 64), value, np.float32))


ones = np.ones((128, 64), np.float32)
'''


@pytest.mark.parametrize("body", [
    "given = ones.copy(); found = added(given, ones); given[:] = 7; assert is_all(found, 2)",
    "total = ones.copy(); accumulated(total, ones); assert is_all(total, 2)",
    "total = ones.copy(); found = added(total, ones); accumulated(total, ones)\n"
    "assert is_all(total, 2) and is_all(found, 2)",
    "first = added(ones, ones); second = added(first, ones); first[:] = 7\n"
    "assert is_all(second, 3) and is_all(first, 7)",
    "first = added(ones, ones); assert is_all(first, 2); second = added(first, ones)\n"
    "first[:] = 7; assert is_all(second, 3)",
    "first = added(ones, ones); accumulated(first, ones); assert is_all(first, 3)",
    "wide = np.ones((128, 140_000), np.float32); found = added(wide, ones)\n"
    "assert is_all(found, 2); wide[:] = 7; assert is_all(found, 2)",
    "assert added(ones, ones).dtype == np.float32 and added(ones, ones).shape == (128, 64)",
    "import copy, pickle; found = added(ones, ones); assert isinstance(found, np.ndarray)\n"
    "assert is_all(copy.copy(found), 2) and is_all(copy.deepcopy(found), 2)\n"
    "assert is_all(pickle.loads(pickle.dumps(found)), 2) and is_all(np.stack([found])[0], 2)",
    "found = added(ones, ones); same = found; same += 1; same @= np.eye(64, dtype=np.float32)\n"
    "assert is_all(same, 3) and is_all(2 * found - 1, 5) and is_all(-found, -3)\n"
    "assert (found > 2).all() and not (found < ones).any() and is_all(ones + found, 4)",
    "found = added(ones, ones); assert 2 in found and 3 not in found\n"
    "assert is_all(divmod(found, 2)[0], 1) and is_all(divmod(5, found)[1], 1)\n"
    "assert bytes(found) == bytes(2 * ones) and is_all(np.from_dlpack(added(ones, ones)), 2)\n"
    "one = added(ones[:1, :1], ones[:1, :1])\n"
    "assert int(one) == float(one) == complex(one) == 2",
    "number = np.ones((1, 1), np.int32); found = added(number, number)[0, 0]\n"
    "assert [5, 6, 7][found] == 7",
], ids=["changed", "in place", "in place after", "given on", "read and given on", "result in place",
        "large", "type", "copies", "operators", "numbers", "index"])
def test_values_are_those_of_the_launch_whenever_they_are_read(trnsim: CommandLine,
                                                               body: str) -> None:
    (trnsim.folder / "order.py").write_text(f"{IN_ORDER}\n{body}\nprint('done')\n")
    outcome = trnsim("run", "order.py")
    assert outcome.status == 0, outcome.error
    assert outcome.output.startswith("done\n")


@pytest.mark.parametrize("api", ["nki", "neuronxcc.nki"])
def test_a_kernel_of_a_function_around_a_kernel_is_that_function(trnsim: CommandLine,
                                                                 api: str) -> None:
    (trnsim.folder / "around.py").write_text(f"""
import functools
import {api} as used
{IN_ORDER}

def doubled(kernel):
    @functools.wraps(kernel)
    def around(a):
        return kernel(a, a)
    return around


def keyed(kernel):
    @functools.wraps(kernel)
    def by_name(**named):
        return kernel(**named)
    return by_name


assert is_all(used.jit(keyed(added))(b=ones, a=ones), 2)
around = doubled(added)
around.grid, around.options = "the user's", 3
assert is_all(used.jit(around)(ones), 2) and is_all(around(ones), 2)
timed = used.benchmark(around)
timed(ones)
assert timed.benchmark_result and used.jit(around).__wrapped__ is around
""")
    outcome = trnsim("run", "around.py")
    assert outcome.status == 0, outcome.error


def test_a_kernel_that_prints_a_tensor_does_so_at_its_launch(trnsim: CommandLine) -> None:
    (trnsim.folder / "order.py").write_text(f"""{IN_ORDER}
@nki.jit
def printed(a):
    tile = loaded(a, (128, 64))
    nl.device_print("tile", tile[0:1, 0:2])
    return a

for factor in (2, 3):
    printed(factor * ones)
    print("launched")
""")
    outcome = trnsim("run", "order.py")
    assert outcome.status == 0 and "prints nothing" not in outcome.output
    assert [line for line in outcome.output.splitlines()[:6] if "tile" not in line] == [
        "[[2. 2.]]", "launched", "[[3. 3.]]", "launched"]


def test_a_large_array_that_has_changed_before_its_result_is_read_is_an_error(
        trnsim: CommandLine) -> None:
    (trnsim.folder / "order.py").write_text(
        f"{IN_ORDER}\nwide = np.ones((128, 140_000), np.float32)\nfound = added(wide, ones)\n"
        "wide[5] = 7\nprint(np.asarray(found).sum())\n")
    line = IN_ORDER.count("\n") + 3
    assert trnsim.fails(2, "run", "order.py").startswith(
        f"order.py:{line}: the script reads what kernel added returned after it has changed what "
        "the kernel was given; read it before that, or give the kernel a copy\n")


RECORDS = '''from dataclasses import dataclass
from typing import NamedTuple
import numpy as np
import nki
import nki.isa as nisa
import nki.language as nl

class Pair(NamedTuple):
    x: object
    factor: float

@dataclass
class Settings:
    x: object
    factor: float

@nki.jit
def scaled(given):
    tile = nl.ndarray(given.x.shape, dtype=given.x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(tile, given.x)
    nisa.tensor_scalar(tile, tile, nl.multiply, given.factor)
    out = nl.ndarray(given.x.shape, dtype=given.x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(out, tile)
    return {"result": Pair(out, given.factor)}

@nki.jit
def filled(x, settings):
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.memset(tile, settings.factor)
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(out, tile)
    return out

ones = np.ones((128, 4), np.float32)
first = scaled(Pair(ones, 2.0))["result"]
print(type(first).__name__, first.factor, first.x[0, 0])
settings = Settings(ones.copy(), 3.0)
kept = scaled(settings)["result"]
settings.x[:] = 0
settings.factor = 9.0
print(kept.factor, kept.x[0, 0])
after = scaled(Settings(kept.x, 2.0))["result"].x
copied = np.array(kept.x)
copied[:] = 0
print(after[0, 0], kept.x[0, 0])
np.add(ones, 4.0, out=kept.x)
print(kept.x[0, 0], after[0, 0])
numbers = Settings(None, 7.0)
seven = filled(ones, numbers)
numbers.factor = 8.0
print(seven[0, 0])
'''


def test_objects_and_named_tuples_are_given_and_returned_as_they_were_at_the_call(
        trnsim: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "records.py").write_text(RECORDS)
    outcome = trnsim("run", "records.py")
    assert outcome.status == 0, outcome.error
    assert outcome.output.splitlines()[:5] == ["Pair 2.0 2.0", "3.0 3.0", "6.0 3.0", "5.0 6.0",
                                                "7.0"]


SURROUNDINGS = f'''
from dataclasses import dataclass
from collections import Counter, OrderedDict, deque
from types import SimpleNamespace
import argparse
import contextlib
import functools
import threading
import weakref
import numpy as np
import constants
{ADDERS}

def scaled(x, factor):
    tile = loaded(x, x.shape)
    nisa.tensor_scalar(tile, tile, nl.multiply, factor)
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(out, tile)
    return out


class Model:
    shared = 2.0

    def __init__(self):
        self.own, self.items = 2.0, [2.0]

    @nki.jit
    def __call__(self, x):
        return scaled(x, self.shared * self.own * self.items[0])


@dataclass
class Slots:
    factor: float


def closure():
    factor = 2.0
    def change(value):
        nonlocal factor
        factor = value
    return nki.jit(lambda x: scaled(x, factor)), change


class Held:
    """A weak reference, a lock, itself, a property and a name that raise: nothing is asked."""

    __slots__ = ("__private", "me", "lock", "gone")

    def __init__(self):
        self.__private, self.me, self.lock = 2.0, self, threading.Lock()
        self.gone = weakref.proxy(Slots(1.0))

    @property
    def shape(self):
        raise RuntimeError("no shape")

    def __getattr__(self, name):
        raise KeyError(name)

    def private(self):
        return self.__private

    def change(self, value):
        self.__private = value


class Table(dict):
    """Does not want to be changed."""

    def update(self, *_, **__):
        raise RuntimeError("no update")

    __setitem__ = clear = update


class Named:
    def __init__(self):
        self.scale = by_factor



class Property:
    @property
    def factor(self):
        return FACTOR

    def method(self, x):
        return scaled(x, self.factor)


class Static:
    @staticmethod
    def of():
        return FACTOR


class Derived(Static):
    pass


class Decorated:
    def __init__(self, function):
        self.function = function

    def __call__(self, *given):
        return self.function(*given)


def by_factor(x):
    return scaled(x, FACTOR)


def imports(x):
    from constants import FACTOR
    return scaled(x, FACTOR)


def counts(x):
    global COUNT
    COUNT += 1
    return scaled(x, COUNT)


def stores(x):
    global LAST
    LAST = "kernel"
    return scaled(x, 2.0)


def logs(x):
    LOG.append(x.name)
    return scaled(x, 2.0)


@contextlib.contextmanager
def factors():
    yield FACTOR


def with_factors(x):
    with CONTEXTS["factors"]() as factor:
        return scaled(x, factor)


decorated = Decorated(by_factor)
ones = np.ones((128, 64), np.float32)
FACTOR, TABLE, ARRAY, LENGTHS, SLOTS = 2.0, {{"factor": [2.0]}}, np.array([2.0]), [], Slots(2.0)
SET, DEQUE, COUNTER, ORDER = {{2.0}}, deque([2.0]), Counter(f=2), OrderedDict(f=2.0, g=1.0)
STRICT, HELD, NAMED, COUNT, LOG = Table(f=2.0), Held(), Named(), 1, []
PROPERTY, LAST = Property(), None
OPTIONS, RESULT = argparse.Namespace(f=2.0), added(ones, ones)
FUNCTIONS, CONTEXTS = {{"scale": by_factor}}, {{"factors": factors}}
CYCLE = [2.0]
CYCLE.append(CYCLE)
helper = lambda: helper.factor
helper.factor = 2.0
'''


@pytest.mark.parametrize(("kernel", "change", "expected"), [
    ("nki.jit(lambda x: scaled(x, FACTOR))", "FACTOR = 3.0", (2, 3)),
    ("nki.jit(lambda x: scaled(x, constants.FACTOR))", "constants.FACTOR = 3.0", (2, 3)),
    ("nki.jit(lambda x: scaled(x, TABLE['factor'][0]))", "TABLE['factor'][0] = 3.0", (2, 3)),
    ("nki.jit(lambda x: scaled(x, TABLE['factor'][0]))", "TABLE['factor'] = [3.0]", (2, 3)),
    ("nki.jit(lambda x: scaled(x, float(ARRAY[0])))", "ARRAY[0] = 3.0", (2, 3)),
    ("nki.jit(lambda x: scaled(x, SLOTS.factor))", "SLOTS.factor = 3.0", (2, 3)),
    ("nki.jit(lambda x: scaled(x, max(SET)))", "SET.add(3.0)", (2, 3)),
    ("nki.jit(lambda x: scaled(x, globals().get('LATER', FACTOR)))", "FACTOR = 3.0", (2, 3)),
    ("nki.jit(lambda x, by=TABLE: scaled(x, by['factor'][0]))", "TABLE['factor'] = [3.0]", (2, 3)),
    ("nki.jit(functools.partial(scaled, factor=2.0))", "scaled = None", (2, 2)),
    ("Model()", "kernel.own = 3.0", (8, 12)),
    ("Model()", "kernel.items[0] = 3.0", (8, 12)),
    ("Model()", "Model.shared = 3.0", (8, 12)),
    ("nki.jit(lambda x: (LENGTHS.append(x), scaled(x, len(LENGTHS)))[1])", "", (1, 2)),
    ("nki.jit(lambda x: scaled(x, DEQUE[0]))", "DEQUE[0] = 3.0", (2, 3)),
    ("nki.jit(lambda x: scaled(x, COUNTER['f']))", "COUNTER['f'] = 3", (2, 3)),
    ("nki.jit(lambda x: scaled(x, ORDER['f']))", "ORDER['f'] = 3.0; ORDER.move_to_end('f')", (2, 3)),
    ("nki.jit(lambda x: scaled(x, STRICT['f']))", "dict.__setitem__(STRICT, 'f', 3.0)", (2, 3)),
    ("nki.jit(lambda x: scaled(x, HELD.private()))", "HELD.change(3.0)", (2, 3)),
    ("nki.jit(lambda x: scaled(x, OPTIONS.f))", "OPTIONS.f = 3.0", (2, 3)),
    ("nki.jit(lambda x: scaled(x, CYCLE[0]))", "CYCLE[0] = 3.0", (2, 3)),
    ("nki.jit(lambda x: scaled(x, helper()))", "helper.factor = 3.0", (2, 3)),
    ("nki.jit(lambda x: scaled(x, float(RESULT[0, 0])))", "RESULT[:] = 3.0", (2, 3)),
    ("nki.jit(lambda x: FUNCTIONS['scale'](x))", "FACTOR = 3.0", (2, 3)),
    ("nki.jit(lambda x: [nki.jit(by_factor)][0](x))", "FACTOR = 3.0", (2, 3)),
    ("nki.jit(lambda x: decorated(x))", "FACTOR = 3.0", (2, 3)),
    ("nki.jit(lambda x: NAMED.scale(x))", "FACTOR = 3.0", (2, 3)),
    ("nki.jit(lambda x: scaled(x, PROPERTY.factor))", "FACTOR = 3.0", (2, 3)),
    ("nki.jit(lambda x: scaled(x, Static.of()))", "FACTOR = 3.0", (2, 3)),
    ("nki.jit(lambda x: scaled(x, Derived.of()))", "FACTOR = 3.0", (2, 3)),
    ("nki.jit(PROPERTY.method)", "FACTOR = 3.0", (2, 3)),
    ("nki.jit(functools.partial(scaled, factor=ARRAY[0]))", "ARRAY[0] = 3.0", (2, 2)),
    ("nki.jit(functools.partial(lambda x, of: scaled(x, of.f), of=OPTIONS))", "OPTIONS.f = 3.0", (2, 3)),
    ("nki.jit(with_factors)", "FACTOR = 3.0", (2, 3)),
    ("nki.jit(imports)", "constants.FACTOR = 3.0", (2, 3)),
    ("nki.jit(lambda x: scaled(x, [FACTOR for _ in range(2)][1]))", "FACTOR = 3.0", (2, 3)),
    ("nki.jit(lambda x: scaled(x, (lambda: constants.FACTOR)()))", "constants.FACTOR = 3.0", (2, 3)),
    ("nki.jit(counts)", "COUNT = 4", (2, 5)),
], ids=["global", "module", "table", "entry", "array", "slot", "set", "name", "default", "partial",
        "attribute", "item", "class", "side effect", "deque", "counter", "ordered", "strict",
        "private", "namespace", "cycle", "function's", "result", "functions", "kernels",
        "class decorator", "function in object", "property", "static", "inherited", "bound",
        "number", "partial object", "context", "import", "comprehension", "lambda",
        "global statement"])
def test_what_a_kernel_reads_is_as_it_was_at_the_launch(
        trnsim: CommandLine, kernel: str, change: str, expected: tuple[int, int]) -> None:
    (trnsim.folder / "constants.py").write_text("FACTOR = 2.0\n")
    (trnsim.folder / "reads.py").write_text(
        f"{SURROUNDINGS}\nkernel = {kernel}\nfirst = kernel(ones)\n{change}\n"
        "second = kernel(ones)\nprint(int(first[0, 0]), int(second[5, 5]), len(LENGTHS))\n")
    outcome = trnsim("run", "reads.py")
    assert outcome.status == 0, outcome.error
    assert outcome.output.splitlines()[0].startswith("{} {} ".format(*expected))


def test_what_has_changed_stays_changed_when_a_result_has_been_read(trnsim: CommandLine) -> None:
    (trnsim.folder / "constants.py").write_text("FACTOR = 2.0\n")
    (trnsim.folder / "reads.py").write_text(
        f"{SURROUNDINGS}\nkernel, change = closure()\nfirst = kernel(ones)\nchange(3.0)\n"
        "counted = nki.jit(lambda x: (LENGTHS.append(x.shape), scaled(x, FACTOR))[1])\n"
        "second = counted(ones)\nFACTOR = ARRAY[0] = 5.0\ndel constants.FACTOR\n"
        "third = nki.jit(logs)(ones)\nLOG.clear()\n"
        "fourth = nki.jit(counts)(ones)\nCOUNT = 1\n"
        "fifth = nki.jit(lambda x: scaled(x, TABLE['factor'][0] * ARRAY[0]))(ones)\n"
        "TABLE['factor'] = [7.0]\nARRAY[0] = 6.0\n"
        "sixth = nki.jit(stores)(ones)\nLAST = 'script'\n"
        "seventh = nki.jit(lambda x: scaled(x, [*ORDER.values()][0]))(ones)\n"
        "ORDER.move_to_end('f')\n"
        "print(sixth[0, 0], LAST, seventh[0, 0], *ORDER)\n"
        "print(third[0, 0], LOG, fourth[0, 0], COUNT, fifth[0, 0], TABLE, ARRAY)\n"
        "print(first[0, 0], second[0, 0], FACTOR, LENGTHS, kernel(ones)[0, 0])\n")
    outcome = trnsim("run", "reads.py")
    assert outcome.status == 0, outcome.error
    assert outcome.output.splitlines()[:3] == [
        "2.0 script 2.0 g f", "2.0 [] 2.0 1 10.0 {'factor': [7.0]} [6.]", "2.0 2.0 5.0 [(128, 64)] 3.0"]


def test_a_large_array_that_a_kernel_reads_must_not_change_before_its_result_is_read(
        trnsim: CommandLine) -> None:
    (trnsim.folder / "constants.py").touch()
    (trnsim.folder / "reads.py").write_text(
        f"{SURROUNDINGS}\nWIDE = np.full(9_000_000, 2.0)\n"
        "kernel = nki.jit(lambda x: scaled(x, float(WIDE[0])))\n"
        "found = kernel(ones)\nWIDE[5] = 3.0\nprint(found[0, 0])\n")
    assert (f"reads.py:{SURROUNDINGS.count(chr(10)) + 4}: the script reads what kernel <lambda> returned after it has changed "
            "WIDE, which the kernel reads; read it before that") in trnsim.fails(
                2, "run", "reads.py")


def test_results_are_given_on_as_often_as_one_likes(trnsim: CommandLine) -> None:
    (trnsim.folder / "constants.py").touch()
    (trnsim.folder / "chain.py").write_text(
        f"{SURROUNDINGS}\nfound = ones\nfor _ in range(200):\n    found = added(found, ones)\n"
        "print(found[0, 0])\n")
    outcome = trnsim("run", "chain.py", "-q")
    assert outcome.status == 0, outcome.error
    assert outcome.output == "201.0\n"


def test_an_object_that_a_kernel_returns_has_arrays_for_its_tensors(trnsim: CommandLine) -> None:
    (trnsim.folder / "constants.py").touch()
    (trnsim.folder / "object.py").write_text(
        f"{SURROUNDINGS}\n@nki.jit\ndef both(x):\n"
        "    return SimpleNamespace(twice=scaled(x, 2.0), inner=[scaled(x, 3.0)], name='x')\n"
        "found = both(ones)\n"
        "print(found.twice[0, 0], found.inner[0][0, 0], found.name, type(found).__name__)\n")
    outcome = trnsim("run", "object.py", "-q")
    assert outcome.status == 0, outcome.error
    assert outcome.output == "2.0 3.0 x SimpleNamespace\n"
    assert trnsim("run", "object.py", "-q", "--no-values").output.startswith(
        "<not computed: values of kernel both> <not computed: values of kernel both> x ")


@pytest.mark.parametrize(("given", "change"), [
    ("np.broadcast_to(row, (128, 64))", "row[:] = 7"),
    ("whole.view()", "given.flags.writeable = True; whole[:] = 7"),
    ("whole", "whole.shape = (64, 128); whole[:] = 7"),
    ("whole", "whole.dtype = np.int32"),
    ("Strange(whole)", "given.x[:] = 7"),
])
def test_arguments_are_what_they_were_whatever_becomes_of_them(
        trnsim: CommandLine, given: str, change: str) -> None:
    (trnsim.folder / "constants.py").touch()
    (trnsim.folder / "given.py").write_text(
        f"{SURROUNDINGS}\nrow, whole = np.ones(64, np.float32), ones.copy()\n"
        "class Strange:\n    one = None\n    def __new__(cls, x):\n"
        "        cls.one = cls.one or object.__new__(cls)\n        cls.one.x = x\n"
        "        return cls.one\n    __copy__ = lambda self: self\n"
        f"given = {given}\nkernel = nki.jit(lambda x: scaled(getattr(x, 'x', x), 2.0))\n"
        f"found = kernel(given)\n{change}\nprint(found[0, 0], found.shape)\n"
        "print(type(getattr(given, 'x', given)).__name__)\n")
    outcome = trnsim("run", "given.py", "-q")
    assert outcome.status == 0, outcome.error
    assert outcome.output == "2.0 (128, 64)\nndarray\n"


def test_threads_of_a_script_get_what_each_would_alone(trnsim: CommandLine) -> None:
    (trnsim.folder / "constants.py").touch()
    (trnsim.folder / "threads.py").write_text(
        f"{SURROUNDINGS}\nimport sys\nfrom concurrent.futures import ThreadPoolExecutor\n"
        "def often(x, times):\n    for i in range(times):\n        last = scaled(x, float(i))\n"
        "    return last\n"
        "kernel = nki.jit(often)\nsys.setswitchinterval(1e-5)\n"
        "with ThreadPoolExecutor(4) as pool:\n"
        "    found = pool.map(lambda times: float(kernel(ones, times)[0, 0]), range(30, 38))\n"
        "    print(*map(int, found))\n")
    outcome = trnsim("run", "threads.py", "-q")
    assert outcome.status == 0, outcome.error
    assert outcome.output == " ".join(map(str, range(29, 37))) + "\n"


def test_a_thread_that_calls_a_kernel_while_another_is_traced_waits(trnsim: CommandLine) -> None:
    (trnsim.folder / "constants.py").touch()
    (trnsim.folder / "threads.py").write_text(
        f"{SURROUNDINGS}\nimport time\nfound, threads = [], []\n"
        "def other():\n    found.append(nki.jit(by_factor)(ones))\n"
        "@nki.jit\ndef kernel(x):\n    if not threads:\n"
        "        threads.append(threading.Thread(target=other))\n        threads[0].start()\n"
        "        time.sleep(0.1)\n    return scaled(x, 5.0)\n"
        "print(kernel(ones)[0, 0])\nthreads[0].join()\nprint(found[0][0, 0])\n")
    outcome = trnsim("run", "threads.py", "-q")
    assert outcome.status == 0, outcome.error
    assert outcome.output == "5.0\n2.0\n"
