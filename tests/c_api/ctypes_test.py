#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Uses the shared library through a foreign-function interface, as Rust, Go or Julia do. The declarations
# below are those of the header. ctypes_test.py LIBRARY PREBUILT     the folder of the example programs
import ctypes
import os
import struct
import sys
import threading
import unittest
from ctypes import POINTER, byref, c_char_p, c_double, c_int32, c_uint8, c_uint32, c_uint64, c_void_p

DEVICE = os.environ.get("MYRIARM_TEST_DEVICE", "cpu").encode()
LIBRARY, PREBUILT = sys.argv.pop(1), sys.argv.pop(1)
OK, ARGUMENT_ERROR, DEVICE_ERROR, STATE_ERROR = range(4)
HALT, EXITED = 1, 9


def structure(name, *fields):
    return type(name, (ctypes.Structure,), {"_fields_": [("struct_size", c_uint64), *fields]})


Stop = type(
    "Stop",
    (ctypes.Structure,),
    {
        "_fields_": [
            ("reason", c_uint8),
            ("fault", c_uint8),
            ("reserved", c_uint8 * 2),
            ("detail", c_uint32),
            ("address", c_uint64),
        ]
    },
)
FleetOptions = structure(
    "FleetOptions",
    ("device", c_char_p),
    ("lanes", c_uint64),
    ("memory", c_uint64),
    ("pool", c_uint64),
    ("threads", c_uint32),
    ("memory_policy", c_uint32),
    ("engine", c_uint32),
    ("reserved", c_uint32),
)
RunOptions = structure(
    "RunOptions",
    ("instructions", c_uint64),
    ("instructions_per_batch", c_uint64),
    ("max_batches", c_uint64),
    ("timeout", c_double),
    ("mode", c_uint32),
    ("leave_paused", c_uint32),
    ("engine", c_uint32),
    ("reserved", c_uint32),
)
RunResult = structure(
    "RunResult",
    ("instructions", c_uint64),
    ("batches", c_uint64),
    ("stopped", c_uint64),
    ("lanes_left", c_uint64),
    ("seconds", c_double),
    ("stops", c_uint64 * 16),
    ("signal", c_uint32),
    ("timed_out", c_uint32),
)
Thread = structure(
    "Thread",
    ("id", c_uint32),
    ("process", c_uint32),
    ("is_running", c_uint32),
    ("is_waiting", c_uint32),
    ("x", c_uint64 * 31),
    ("sp", c_uint64),
    ("pc", c_uint64),
    ("nzcv", c_uint64),
    ("tpidr", c_uint64),
    ("fpcr", c_uint64),
    ("fpsr", c_uint64),
    ("v", c_uint64 * 2 * 32),
)
Outcome = structure("Outcome", ("stop", Stop), ("exit_status", c_int32), ("signal", c_int32))


def sized(kind, **values):
    return kind(struct_size=ctypes.sizeof(kind), **values)


library = ctypes.CDLL(LIBRARY)
library.myriarm_last_error.restype = c_char_p
library.myriarm_version.restype = c_char_p
library.myriarm_stop_name.restype = c_char_p
library.myriarm_program_raw.argtypes = [c_char_p, c_uint64, c_uint64, c_uint64, POINTER(c_void_p)]
library.myriarm_program_load.argtypes = [c_char_p, POINTER(c_void_p)]
library.myriarm_program_free.argtypes = [c_void_p]
library.myriarm_fleet_create.argtypes = [c_void_p, POINTER(FleetOptions), POINTER(c_void_p)]
library.myriarm_fleet_free.argtypes = [c_void_p]
library.myriarm_fleet_run.argtypes = [c_void_p, POINTER(RunOptions), POINTER(RunResult)]
for name in ("get", "set"):
    function = getattr(library, f"myriarm_fleet_{name}")
    function.argtypes = [c_void_p, c_uint32, POINTER(c_uint32), c_uint64, POINTER(c_uint64)]
library.myriarm_fleet_get_stops.argtypes = [c_void_p, POINTER(c_uint32), c_uint64, POINTER(Stop)]
library.myriarm_fleet_count_threads.argtypes = [c_void_p, c_uint32, POINTER(c_uint64)]
library.myriarm_fleet_get_thread.argtypes = [c_void_p, c_uint32, c_uint64, POINTER(Thread)]
library.myriarm_linux_create.argtypes = [c_void_p, POINTER(FleetOptions), c_void_p, POINTER(c_void_p)]
library.myriarm_linux_run.argtypes = [c_void_p, POINTER(RunResult)]
library.myriarm_linux_get_outcome.argtypes = [c_void_p, c_uint32, POINTER(Outcome)]
library.myriarm_linux_get_output.argtypes = [
    c_void_p,
    c_uint32,
    c_uint32,
    c_char_p,
    c_uint64,
    POINTER(c_uint64),
]


def error():
    return library.myriarm_last_error().decode()


SUM = struct.pack("<5I", 0xD2800001, 0x8B000021, 0xF1000400, 0x54FFFFC1, 0xD4400000)


class Library(unittest.TestCase):
    def ok(self, status):
        self.assertEqual(status, OK, error())

    def make(self, function, *arguments):
        handle = c_void_p()
        self.ok(function(*arguments, byref(handle)))
        self.assertTrue(handle.value)
        return handle

    def fleet(self, lanes):
        program = self.make(library.myriarm_program_raw, SUM, len(SUM), 0, 1 << 16)
        options = sized(FleetOptions, device=DEVICE, lanes=lanes)
        fleet = self.make(library.myriarm_fleet_create, program, options)
        self.addCleanup(library.myriarm_fleet_free, fleet)
        self.ok(library.myriarm_program_free(program))
        return fleet

    def test_a_fleet_runs(self):
        lanes = 1000
        fleet = self.fleet(lanes)
        values = (c_uint64 * lanes)(*range(1, lanes + 1))
        self.ok(library.myriarm_fleet_set(fleet, 0, None, lanes, values))
        result = sized(RunResult)
        self.ok(library.myriarm_fleet_run(fleet, None, result))
        self.assertEqual(result.stops[HALT], lanes)
        self.assertEqual(result.instructions, sum(3 * n + 1 for n in range(1, lanes + 1)))
        self.ok(library.myriarm_fleet_get(fleet, 1, None, lanes, values))
        self.assertEqual(list(values), [n * (n + 1) // 2 for n in range(1, lanes + 1)])
        stop = Stop()
        self.ok(library.myriarm_fleet_get_stops(fleet, (c_uint32 * 1)(lanes - 1), 1, stop))
        self.assertEqual(library.myriarm_stop_name(c_uint32(stop.reason)), b"halt")

    def test_a_budget_ends_a_run(self):
        fleet = self.fleet(2)
        result = sized(RunResult)
        self.ok(library.myriarm_fleet_run(fleet, sized(RunOptions, instructions=1), result))
        self.assertEqual((result.instructions, result.lanes_left), (2, 2))

    def test_linux_programs_run(self):
        program = self.make(library.myriarm_program_load, f"{PREBUILT}/hello".encode())
        options = sized(FleetOptions, device=DEVICE, lanes=3)
        fleet = self.make(library.myriarm_linux_create, program, options, None)
        self.ok(library.myriarm_linux_run(fleet, None))
        outcome, size = sized(Outcome), c_uint64()
        self.ok(library.myriarm_linux_get_outcome(fleet, 2, outcome))
        self.assertEqual((outcome.stop.reason, outcome.exit_status, outcome.signal), (EXITED, 0, 0))
        self.ok(library.myriarm_linux_get_output(fleet, 2, 1, None, 0, byref(size)))
        text = ctypes.create_string_buffer(size.value)
        self.ok(library.myriarm_linux_get_output(fleet, 2, 1, text, size, byref(size)))
        self.assertEqual(text.raw, b"hello from lane 2\n")
        self.ok(library.myriarm_fleet_free(fleet))
        self.ok(library.myriarm_program_free(program))

    def test_a_lane_has_threads(self):
        program = self.make(library.myriarm_program_load, f"{PREBUILT}/hello".encode())
        fleet = self.make(library.myriarm_linux_create, program, sized(FleetOptions, device=DEVICE), None)
        count, thread, pc = c_uint64(), sized(Thread), c_uint64()
        self.ok(library.myriarm_fleet_count_threads(fleet, 0, byref(count)))
        self.ok(library.myriarm_fleet_get_thread(fleet, 0, 0, thread))
        self.ok(library.myriarm_fleet_get(fleet, 32, None, 1, byref(pc)))
        self.assertEqual((count.value, thread.id, thread.process, thread.is_running), (1, 1000, 1000, 1))
        self.assertEqual(thread.pc, pc.value)
        self.ok(library.myriarm_fleet_free(fleet))
        self.ok(library.myriarm_program_free(program))

    def test_mistakes_give_a_status_and_a_sentence(self):
        handle = c_void_p()
        self.assertEqual(library.myriarm_fleet_run(None, None, None), ARGUMENT_ERROR)
        self.assertIn("the fleet is NULL", error())
        for wrong in (1, 0xDEADBEEF, 2**64 - 1):
            self.assertEqual(library.myriarm_fleet_run(wrong, None, None), ARGUMENT_ERROR)
            self.assertIn("was freed or never made", error())
        fleet = self.fleet(2)
        self.assertEqual(library.myriarm_program_free(fleet), ARGUMENT_ERROR)
        self.assertEqual(
            library.myriarm_fleet_get(fleet, 0, (c_uint32 * 1)(2), 1, c_uint64()), ARGUMENT_ERROR
        )
        self.assertIn("there is no lane 2", error())
        self.assertEqual(library.myriarm_fleet_run(fleet, RunOptions(), None), ARGUMENT_ERROR)
        self.assertIn("struct_size is 0", error())
        self.assertEqual(library.myriarm_fleet_run(fleet, sized(RunOptions, mode=7), None), ARGUMENT_ERROR)
        self.assertIn("mode 7", error())
        program = self.make(library.myriarm_program_raw, SUM, len(SUM), 0, 1 << 16)
        options = sized(FleetOptions, device=b"cuda:7654")
        self.assertEqual(library.myriarm_fleet_create(program, options, byref(handle)), DEVICE_ERROR)
        self.assertIn("cuda:7654 is not there", error())
        self.assertIsNone(handle.value)
        self.ok(library.myriarm_program_free(program))
        self.assertEqual(library.myriarm_program_free(program), ARGUMENT_ERROR)

    def test_each_thread_has_its_own_last_error(self):
        self.assertEqual(library.myriarm_fleet_free(None), ARGUMENT_ERROR)
        seen = []
        thread = threading.Thread(target=lambda: seen.append(error()))
        thread.start()
        thread.join()
        self.assertEqual(seen, [""])
        self.assertIn("the fleet is NULL", error())

    def test_a_fleet_may_be_freed_while_another_thread_runs_it(self):
        loop = struct.pack("<2I", 0x91000400, 0x17FFFFFF)
        program = self.make(library.myriarm_program_raw, loop, len(loop), 0, 1 << 16)
        fleet = self.make(library.myriarm_fleet_create, program, sized(FleetOptions, device=DEVICE, lanes=2))
        statuses = []
        # If the run has begun, it is cancelled; if not, it is refused, because the fleet was freed.
        thread = threading.Thread(
            target=lambda: statuses.append(library.myriarm_fleet_run(fleet, None, None))
        )
        thread.start()
        self.ok(library.myriarm_fleet_free(fleet))
        thread.join()
        self.assertIn(statuses, ([OK], [ARGUMENT_ERROR]))
        self.ok(library.myriarm_program_free(program))


if __name__ == "__main__":
    unittest.main()
