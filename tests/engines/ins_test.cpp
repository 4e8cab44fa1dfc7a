// SPDX-License-Identifier: Apache-2.0
// Runs tests/insn/*.ins: a lane for each case, one instruction in each lane, all cases of a file in one fleet (or a
// few, if cases need the same pc). tests/insn/README.md describes the format.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "insn/lanes.h"

namespace ins {
namespace {

using myriarm::Field;

void check_stop(const Case& c, const myriarm::Stop& stop, std::string& wrong) {
  std::string reason = c.stop.empty() ? "budget" : c.stop;
  if (myriarm::name(stop.reason) != reason) {
    wrong += std::string("  stop: ") + myriarm::name(stop.reason) + ", expected " + reason + "\n";
  }
  if (c.stop.empty()) return;
  if (myriarm::name(stop.fault) != c.fault) {
    wrong += std::string("  fault: ") + myriarm::name(stop.fault) + ", expected " + c.fault + "\n";
  }
  if (stop.detail != c.detail) wrong += "  detail: " + hex(stop.detail) + ", expected " + hex(c.detail) + "\n";
  if (stop.address != c.address) wrong += "  address: " + hex(stop.address) + ", expected " + hex(c.address) + "\n";
}

void check_memory(const myriarm::Fleet& fleet, const std::vector<Case>& cases, std::vector<std::string>& wrong) {
  Pieces wanted = expected_memory(cases);
  std::vector<uint8_t> found(wanted.buffer.size());
  std::vector<uint32_t> done(wanted.transfers.size());
  fleet.read(wanted.transfers, found, done);
  for (size_t piece = 0; piece < done.size(); piece++) {
    const myriarm::Transfer& t = wanted.transfers[piece];
    for (size_t i = 0; i < t.size; i++) {
      uint8_t want = wanted.buffer[t.offset + i], have = found[t.offset + i];
      if (i >= done[piece]) {
        wrong[t.lane] += "  [" + hex(t.address + i) + "] is not mapped\n";
      } else if (have != want) {
        wrong[t.lane] += "  [" + hex(t.address + i) + "]: " + hex(have) + ", expected " + hex(want) + "\n";
      }
    }
  }
}

void run_group(const std::string& file, const std::vector<Case>& cases) {
  const char* device = std::getenv("MYRIARM_TEST_DEVICE");
  myriarm::FleetOptions options;
  options.device = device != nullptr ? device : "cpu";
  options.lanes = cases.size();
  options.memory = kMemory;
  myriarm::Fleet fleet(program_of(file, cases), options);

  set_inputs(fleet, cases);
  fleet.run();
  std::vector<uint64_t> values(cases.size());
  std::vector<std::string> wrong(cases.size());
  for (unsigned f = 0; f < static_cast<unsigned>(Field::count); f++) {
    auto field = static_cast<Field>(f);
    if (field == Field::limit) continue;
    fleet.get_all(field, values);
    for (size_t lane = 0; lane < cases.size(); lane++) {
      uint64_t wanted = expected(cases[lane], field);
      if (values[lane] != wanted) {
        wrong[lane] += "  " + name_of(field) + ": " + hex(values[lane]) + ", expected " + hex(wanted) + "\n";
      }
    }
  }
  check_memory(fleet, cases, wrong);
  for (size_t lane = 0; lane < cases.size(); lane++) {
    const Case& c = cases[lane];
    check_stop(c, fleet.stops()[lane], wrong[lane]);
    std::string text = myriarm::disassemble(c.word, c.pc.value_or(0));
    if (text != c.text) wrong[lane] += "  disassembly: \"" + text + "\", expected \"" + c.text + "\"\n";
    if (!wrong[lane].empty()) ADD_FAILURE() << file << ":" << c.line << ": " << c.whole << "\n" << wrong[lane];
  }
}

class Ins : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(Ins, EveryCase) {
  std::vector<Case> cases = read_cases(GetParam());
  for (const auto& group : place(cases)) run_group(GetParam().filename().string(), group);
}

/// Every implemented row has a case (CONTRIBUTING.md, third edit). Two rows may share a case only if they overlap.
TEST(InsFiles, CoverEveryImplementedRow) {
  std::vector<uint32_t> words;
  for (const auto& file : files()) {
    for (const Case& c : read_cases(file)) words.push_back(c.word);
  }
  for (const myriarm::IsaRow& row : myriarm::isa_rows()) {
    if (row.status != "implemented") continue;
    uint32_t mask = 0, value = 0;
    for (char bit : row.bits) {
      mask = mask << 1 | (bit == '0' || bit == '1');
      value = value << 1 | (bit == '1');
    }
    EXPECT_TRUE(std::any_of(words.begin(), words.end(), [&](uint32_t word) { return (word & mask) == value; }))
        << row.name << " has no case in tests/insn";
  }
}

INSTANTIATE_TEST_SUITE_P(Files, Ins, testing::ValuesIn(files()),
                         [](const auto& param) { return param.param.stem().string(); });

}  // namespace
}  // namespace ins
