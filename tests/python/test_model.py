# SPDX-License-Identifier: Apache-2.0
"""Random sequences of calls of a fleet (registers, memory, maps, stops, snapshots, forks, short runs),
compared with a model in NumPy, for each memory policy."""

import os

import a64
import myriarm
import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, precondition, rule
from myriarm import FaultKind, Permission, StopReason

DEVICE = os.environ.get("MYRIARM_TEST_DEVICE", "cpu")
LANES = 5
PAGE = 4096
PAGES = 6
SIZE = PAGE * PAGES
FIELDS = ("x", "v", "sp", "pc", "nzcv", "tpidr", "instructions")
STOP = ("reason", "fault", "detail", "address")
# The program on page 0 adds x2 to the number at x0; the sum goes to x1 and to memory.
PROGRAM = a64.code(a64.ldr(1, 0), a64.add(1, 1, 2), a64.str_(1, 0), a64.b(-12))

lane_masks = st.integers(1, 2**LANES - 1)
values = st.integers(0, 2**64 - 1)
addresses = st.integers(PAGE, SIZE - 1)
kinds = st.sampled_from(["rw", "r", "w", "rwx", ""])


def lanes_of(mask):
    return np.array([lane for lane in range(LANES) if mask >> lane & 1])


def bits_of(permissions):
    letters = {"r": Permission.read, "w": Permission.write, "x": Permission.execute}
    return int(Permission.mapped | sum(letters[letter] for letter in permissions))


class Model:
    """The whole state of a fleet, as arrays whose first axis is the lane."""

    def __init__(self):
        self.x = np.zeros((LANES, 31), np.uint64)
        self.v = np.zeros((LANES, 32, 2), np.uint64)
        self.sp = np.full(LANES, SIZE, np.uint64)
        for name in ("pc", "nzcv", "tpidr", "instructions"):
            setattr(self, name, np.zeros(LANES, np.uint64))
        self.reason = np.zeros(LANES, np.uint8)
        self.fault = np.zeros(LANES, np.uint8)
        self.detail = np.zeros(LANES, np.uint32)
        self.address = np.zeros(LANES, np.uint64)
        self.memory = np.zeros((LANES, SIZE), np.uint8)
        self.memory[:, : len(PROGRAM)] = np.frombuffer(PROGRAM, np.uint8)
        self.pages = np.full((LANES, PAGES), bits_of("rwx"), np.uint8)  # sums of Permission; 0: not mapped

    def arrays(self):
        return vars(self)

    def copy(self):
        other = Model()
        for name, array in self.arrays().items():
            setattr(other, name, array.copy())
        return other

    def take(self, lanes, other, other_lanes):
        for name, array in self.arrays().items():
            array[lanes] = getattr(other, name)[other_lanes]


class HostOperations(RuleBasedStateMachine):
    policy = "private"
    snapshots = Bundle("snapshots")

    @initialize()
    def begin(self):
        self.fleet = myriarm.Fleet(
            PROGRAM, lanes=LANES, device=DEVICE, memory=SIZE, memory_policy=self.policy
        )
        self.model = Model()
        self.kept = None  # transactional: the state that rollback() restores

    def teardown(self):
        if hasattr(self, "fleet"):
            self.fleet.close()

    # Registers.
    @rule(n=st.integers(0, 30), mask=lane_masks, value=values)
    def set_x(self, n, mask, value):
        lanes = lanes_of(mask)
        column = (np.arange(lanes.size, dtype=np.uint64) + np.uint64(value >> 1)).astype(np.uint64)
        self.fleet.x[lanes, n] = column
        self.model.x[lanes, n] = column

    @rule(mask=st.integers(0, 2**LANES - 1), value=values)
    def set_rows(self, mask, value):
        chosen = np.array([mask >> lane & 1 for lane in range(LANES)], bool)
        row = np.full(31, value, np.uint64)
        row[0] = PAGE  # an address that the program can use
        self.fleet.x[chosen] = row
        self.model.x[chosen] = row

    @rule(begin=st.integers(0, LANES), n=st.integers(0, 31), half=st.integers(0, 1), value=values)
    def set_v(self, begin, n, half, value):
        self.fleet.v[begin:, n, half] = value
        self.model.v[begin:, n, half] = value

    @rule(name=st.sampled_from(["sp", "tpidr"]), lane=st.integers(-LANES, LANES - 1), value=values)
    def set_one(self, name, lane, value):
        getattr(self.fleet, name)[lane] = value
        getattr(self.model, name)[lane] = value

    @rule(step=st.integers(-3, -1), n=st.integers(0, 30), value=values)
    def add_backwards(self, step, n, value):
        self.fleet.x[::step, n] ^= value
        self.model.x[::step, n] ^= np.uint64(value)

    @rule(flags=st.lists(st.integers(0, 15), min_size=LANES, max_size=LANES))
    def set_flags(self, flags):
        self.fleet.nzcv = flags
        self.model.nzcv[:] = flags

    # Memory.
    def whole(self, address, size, lanes):
        """Whether all of these bytes are mapped in each of these lanes."""
        pages = slice(address // PAGE, (address + size - 1) // PAGE + 1)
        return address + size <= SIZE and self.model.pages[lanes, pages].all()

    @rule(mask=lane_masks, address=addresses, data=st.binary(min_size=1, max_size=300), row=st.booleans())
    def write(self, mask, address, data, row):
        lanes = lanes_of(mask)
        if not self.whole(address, len(data), lanes):
            return
        table = np.frombuffer(data, np.uint8)
        if row:
            table = table + np.arange(lanes.size, dtype=np.uint8)[:, None]
        self.fleet.write(address, table, lanes)
        self.model.memory[lanes, address : address + len(data)] = table

    @rule(
        address=st.lists(st.integers(PAGE, SIZE - 100), min_size=LANES, max_size=LANES),
        size=st.integers(1, 100),
    )
    def write_at_own_addresses(self, address, size):
        if not all(self.whole(at, size, [lane]) for lane, at in enumerate(address)):
            return
        table = (np.arange(LANES)[:, None] * 7 + np.arange(size)).astype(np.uint8)
        self.fleet.write(address, table)
        for lane, at in enumerate(address):
            self.model.memory[lane, at : at + size] = table[lane]
        np.testing.assert_array_equal(self.fleet.read(np.array(address), size), table)

    @rule(mask=lane_masks, address=st.integers(0, SIZE - 1), size=st.integers(1, 2 * PAGE))
    def read(self, mask, address, size):
        lanes = lanes_of(mask)
        if self.whole(address, size, lanes):
            np.testing.assert_array_equal(
                self.fleet.read(address, size, lanes), self.model.memory[lanes, address : address + size]
            )
        else:
            with pytest.raises(myriarm.ArgumentError, match="is outside the window|is not mapped"):
                self.fleet.read(address, size, lanes)

    @rule(mask=lane_masks, page=st.integers(1, PAGES - 1), kind=kinds)
    def map(self, mask, page, kind):
        lanes = lanes_of(mask)
        self.fleet.map(page * PAGE, PAGE, kind, lanes)
        self.model.memory[lanes, page * PAGE : (page + 1) * PAGE] = 0
        self.model.pages[lanes, page] = bits_of(kind)

    @rule(mask=lane_masks, page=st.integers(1, PAGES - 1))
    def unmap(self, mask, page):
        lanes = lanes_of(mask)
        self.fleet.unmap(page * PAGE, PAGE, lanes)
        self.model.memory[lanes, page * PAGE : (page + 1) * PAGE] = 0
        self.model.pages[lanes, page] = 0

    @rule(mask=lane_masks, page=st.integers(1, PAGES - 1), kind=kinds)
    def protect(self, mask, page, kind):
        lanes = lanes_of(mask)
        self.fleet.protect(page * PAGE, PAGE, kind, lanes)
        lanes = lanes[self.model.pages[lanes, page] != 0]
        self.model.pages[lanes, page] = bits_of(kind)

    # Stops.
    @rule(
        mask=lane_masks,
        reason=st.sampled_from([StopReason.exited, StopReason.halt]),
        detail=st.integers(0, 9),
    )
    def set_stops(self, mask, reason, detail):
        lanes = lanes_of(mask)
        self.fleet.set_stops(lanes, reason, detail)
        for name, value in zip(STOP, (reason, 0, detail, 0)):
            getattr(self.model, name)[lanes] = value

    @rule(mask=lane_masks)
    def resume(self, mask):
        self.resume_lanes(lanes_of(mask))

    def resume_lanes(self, lanes):
        self.fleet.resume(lanes)
        for name in STOP:
            getattr(self.model, name)[lanes] = 0

    # Runs: one iteration of the loop of four instructions.
    @rule(page=st.integers(1, PAGES - 1), offset=st.integers(0, PAGE - 8), value=values)
    def run(self, page, offset, value):
        for x in (self.fleet.x, self.model.x):
            x[:, 0] = page * PAGE + offset
            x[:, 2] = value
        self.around()

    @rule(mode=st.sampled_from(["run", "continuous", "mega", "self_dispatch"]))
    def run_again(self, mode):
        runs = np.isin(self.model.reason, (StopReason.none, StopReason.budget))
        at = self.model.x[runs, 0]
        if ((at >= PAGE) & (at < SIZE) & (at % PAGE <= PAGE - 8)).all():
            self.around(mode)

    def around(self, mode="run"):
        self.keep()
        runs = np.isin(self.model.reason, (StopReason.none, StopReason.budget))
        self.fleet.start(4, mode=mode, instructions_per_batch=3)
        result = self.fleet.wait()
        assert result.instructions == sum(self.four_steps(lane) for lane in np.flatnonzero(runs))
        assert result.stops == {
            StopReason(reason).name: (self.model.reason[runs] == reason).sum()
            for reason in np.unique(self.model.reason[runs])
        }

    def allowed(self, pages):
        """The permissions of the guest: with the policy read-only it can write to no page."""
        return pages & ~np.uint8(Permission.write) if self.policy == "read-only" else pages

    def fault_of(self, lane, address, wanted):
        page = self.allowed(self.model.pages[lane, address // PAGE])
        if page & wanted:
            return FaultKind.none
        kinds = {Permission.read: FaultKind.read, Permission.write: FaultKind.write}
        return kinds[wanted] if page else FaultKind.unmapped

    def four_steps(self, lane):
        """Executes the program in one lane of the model, and returns how many instructions retired."""
        model = self.model
        model.reason[lane] = model.detail[lane] = model.fault[lane] = model.address[lane] = 0
        at = int(model.x[lane, 0])
        word = model.memory[lane, at : at + 8].view(np.uint64)
        for step in range(4):
            fault = FaultKind.none
            if model.pc[lane] == 0:
                fault = self.fault_of(lane, at, Permission.read)
                if not fault:
                    model.x[lane, 1] = word[0]
            elif model.pc[lane] == 4:
                model.x[lane, 1:2] += model.x[lane, 2]  # an array, because NumPy warns if a scalar overflows
            elif model.pc[lane] == 8:
                fault = self.fault_of(lane, at, Permission.write)
                if not fault:
                    word[0] = model.x[lane, 1]
            if fault:
                model.reason[lane], model.fault[lane], model.address[lane] = StopReason.fault, fault, at
                return step
            model.pc[lane] = (model.pc[lane] + 4) % 16
            model.instructions[lane] += 1
        model.reason[lane] = StopReason.budget
        return 4

    @rule()
    def restart_faulted(self):
        lanes = np.flatnonzero(self.model.reason == StopReason.fault)
        self.fleet.pc[lanes] = 0
        self.model.pc[lanes] = 0
        self.resume_lanes(lanes)

    # Copies of state.
    @rule(target=snapshots, mask=lane_masks)
    def snapshot(self, mask):
        lanes = lanes_of(mask)
        snapshot = self.fleet.snapshot(lanes)
        np.testing.assert_array_equal(snapshot.lanes, lanes)
        return snapshot, self.model.copy()

    @rule(kept=snapshots, mask=lane_masks)
    def restore(self, kept, mask):
        snapshot, model = kept
        lanes = np.intersect1d(lanes_of(mask), snapshot.lanes)
        self.fleet.restore(snapshot, lanes)
        self.model.take(lanes, model, lanes)

    @rule(lane=st.integers(0, LANES - 1), mask=lane_masks)
    def fork(self, lane, mask):
        targets = lanes_of(mask)
        self.fleet.fork(lane, targets)
        self.model.take(targets, self.model.copy(), [lane] * targets.size)

    def keep(self):
        if self.kept is None:
            self.kept = self.model.copy()

    @precondition(lambda self: self.policy == "transactional")
    @rule(back=st.booleans())
    def end_transaction(self, back):
        if back:
            self.fleet.rollback()
            self.model = self.kept.copy() if self.kept else self.model
        else:
            self.fleet.commit()
        self.kept = None

    @invariant()
    def fleet_is_the_model(self):
        if not hasattr(self, "fleet"):
            return
        for name in FIELDS:
            np.testing.assert_array_equal(getattr(self.fleet, name), getattr(self.model, name), err_msg=name)
        stops = self.fleet.stops
        for name in STOP:
            np.testing.assert_array_equal(stops[name], getattr(self.model, name), err_msg=name)
        np.testing.assert_array_equal(self.fleet.permissions(0, SIZE), self.allowed(self.model.pages))
        for page in range(PAGES):
            lanes = np.flatnonzero(self.model.pages[:, page])
            here = slice(page * PAGE, (page + 1) * PAGE)
            np.testing.assert_array_equal(
                self.fleet.read(page * PAGE, PAGE, lanes),
                self.model.memory[lanes, here],
                err_msg=f"page {page}",
            )


def machine(name, policy):
    case = type(name, (HostOperations,), {"policy": policy}).TestCase
    # Each example uses only some of the rules, so there must be enough examples to combine all of them.
    case.settings = settings(
        max_examples=4 * settings.default.max_examples,
        stateful_step_count=40,
    )
    return case


class TestPrivate(machine("Private", "private")):
    pass


class TestReadOnly(machine("ReadOnly", "read-only")):
    pass


class TestTransactional(machine("Transactional", "transactional")):
    pass


class TestShared(machine("Shared", "shared")):
    pass


class TestDeviceShared(machine("DeviceShared", "device-shared")):
    pass
