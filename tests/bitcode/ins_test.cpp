// SPDX-License-Identifier: Apache-2.0
// Runs every line of tests/insn/*.ins twice: with the interpreter, and with the host's bitcode of the row. Registers,
// flags, system registers, memory and stops must be the same to the bit, whatever the line expects.
#include <gtest/gtest.h>

#include <cstring>

#include "insn/lanes.h"
#include "isa/decoder.h"
#include "row_machine.h"

namespace myriarm::bitcode {
namespace {

constexpr RowFunction kRowFunctions[kRowCount] = {
    nullptr,
#define GROUP(name, title)
#define UNDEFINED(name, bits, reason) nullptr,
#define A64(name, syntax, bits, form, semantics, feature) myriarm_row_##name,
#include "isa/a64.inc"
#undef GROUP
#undef A64
#undef UNDEFINED
};

constexpr u64 kPages = ins::kMemory / kPageSize;
/// The data area of the cases (tests/insn/README.md).
struct Range {
  u64 begin, end;
};
constexpr Range kData[] = {{0x8000, 0x20000}, {0xFF000, 0x100000}};

/// The memory of one machine. Frame 0 is unused; the frames of the pages follow in the order of their addresses.
struct Memory {
  std::vector<u8> frames = std::vector<u8>(ins::kMemory + kPageSize);
  std::vector<u32> table = std::vector<u32>(kPages);

  explicit Memory(const Program& program) {
    for (const Segment& segment : program.segments) {
      for (u64 page = segment.address / kPageSize; page < (segment.address + segment.size) / kPageSize; page++) {
        u32 flags = 0;
        if (segment.permissions & kRead) flags |= kPageReadable;
        if (segment.permissions & kWrite) flags |= kPageWritable;
        if (segment.permissions & kExecute) flags |= kPageExecutable;
        table[page] = static_cast<u32>(page + 1) << kPageFlagBits | flags;
      }
      if (!segment.bytes.empty()) std::memcpy(at(segment.address), segment.bytes.data(), segment.bytes.size());
    }
  }
  u8* at(u64 address) { return frames.data() + kPageSize + address; }
};

u64& field_of(RowMachine& machine, Field field) {
  const auto n = static_cast<u32>(field), low = static_cast<u32>(Field::v0_low);
  static_assert(static_cast<u32>(Field::v0_high) == static_cast<u32>(Field::v0_low) + 32);
  if (n >= low) return machine.v[2 * ((n - low) % 32) + (n - low) / 32];
  switch (field) {
    case Field::sp: return machine.x[kSlotSP];
    case Field::pc: return machine.pc;
    case Field::nzcv: return machine.nzcv;
    case Field::tpidr: return machine.system[static_cast<int>(SystemField::tpidr)];
    case Field::fpcr: return machine.system[static_cast<int>(SystemField::fpcr)];
    case Field::fpsr: return machine.system[static_cast<int>(SystemField::fpsr)];
    case Field::instructions: return machine.retired;
    default: return machine.x[n];
  }
}

/// Executes one instruction, and what an engine does before and after it.
void execute(RowMachine& machine, u32 word) {
  const Operands operands = decode(decode_table(), word);
  const RowFunction row = kRowFunctions[operands.row];
  machine.stop = {StopCode::budget, FaultCode::none, 0, 0, 0};
  const Outcome outcome = row != nullptr ? row(&machine, &operands) : Outcome::stop;
  if (row == nullptr) machine.stop.code = StopCode::undefined;
  if (machine.stop.code == StopCode::undefined) machine.stop.address = word;
  if (outcome == Outcome::stop && machine.stop.code != StopCode::syscall) return;
  machine.retired++;
  machine.pc = outcome == Outcome::branch ? machine.target : machine.pc + 4;
}

void run_group(const std::string& file, const std::vector<ins::Case>& cases) {
  const Program program = ins::program_of(file, cases);
  FleetOptions options;
  options.device = "cpu";
  options.lanes = cases.size();
  options.memory = ins::kMemory;
  Fleet fleet(program, options);
  ins::set_inputs(fleet, cases);
  fleet.run();
  const std::span<const Stop> stops = fleet.stops();

  constexpr u32 kFields = static_cast<u32>(Field::count);
  std::vector<std::vector<u64>> fields(kFields, std::vector<u64>(cases.size()));
  for (u32 f = 0; f < kFields; f++) fleet.get_all(static_cast<Field>(f), fields[f]);

  Memory memory(program);
  const std::vector<u8> untouched = memory.frames;
  for (u32 lane = 0; lane < cases.size(); lane++) {
    const ins::Case& c = cases[lane];
    SCOPED_TRACE(file + ":" + std::to_string(c.line) + ": " + c.whole);
    RowMachine machine = {};
    machine.frames = memory.frames.data();
    machine.table = memory.table.data();
    machine.page_count = kPages;
    machine.system[static_cast<int>(SystemField::monitor)] = kMonitorOpen;
    for (u32 f = 0; f < kFields; f++) {
      const auto field = static_cast<Field>(f);
      if (field != Field::limit) field_of(machine, field) = ins::initial(c, field);
    }
    for (const auto& [address, bytes] : c.memory_in) std::memcpy(memory.at(address), bytes.data(), bytes.size());

    execute(machine, c.word);

    for (u32 f = 0; f < kFields; f++) {
      const auto field = static_cast<Field>(f);
      if (field == Field::limit) continue;
      EXPECT_EQ(field_of(machine, field), fields[f][lane]) << ins::name_of(field);
    }
    EXPECT_EQ(static_cast<u32>(machine.stop.code), static_cast<u32>(stops[lane].reason));
    EXPECT_EQ(static_cast<u32>(machine.stop.fault), static_cast<u32>(stops[lane].fault));
    EXPECT_EQ(machine.stop.detail, stops[lane].detail);
    EXPECT_EQ(machine.stop.address, stops[lane].address);
    for (const auto& [begin, end] : kData) {
      const std::vector<u8> data = fleet.read(lane, begin, end - begin);
      EXPECT_EQ(std::memcmp(data.data(), memory.at(begin), data.size()), 0) << "memory from " << ins::hex(begin);
      std::memset(memory.at(begin), 0, data.size());
    }
  }
  EXPECT_TRUE(memory.frames == untouched) << file << ": the bitcode has written where no case has data";
}

class Ins : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(Ins, BitcodeIsTheInterpreter) {
  for (const auto& group : ins::place(ins::read_cases(GetParam()))) run_group(GetParam().filename().string(), group);
}

INSTANTIATE_TEST_SUITE_P(Files, Ins, testing::ValuesIn(ins::files()),
                         [](const auto& param) { return param.param.stem().string(); });

}  // namespace
}  // namespace myriarm::bitcode
