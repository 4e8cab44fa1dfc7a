// SPDX-License-Identifier: Apache-2.0
// Where no pc is given, a case lies behind the others from kFirstFreePc on; a register or byte that no output names
// keeps its input.
#include "insn/lanes.h"

#include <algorithm>
#include <cstring>

namespace ins {

using myriarm::Field;

std::vector<std::vector<Case>> place(const std::vector<Case>& cases) {
  std::vector<std::vector<Case>> groups;
  std::map<uint64_t, size_t> uses;
  uint64_t free_pc = kFirstFreePc;
  for (Case c : cases) {
    if (!c.pc) {
      c.pc = free_pc;
      free_pc += 4;
    }
    size_t group = uses[*c.pc]++;
    if (group >= groups.size()) groups.resize(group + 1);
    groups[group].push_back(c);
  }
  return groups;
}

myriarm::Program program_of(const std::string& file, const std::vector<Case>& cases) {
  uint64_t begin = kMemory, end = 0;
  for (const Case& c : cases) {
    begin = std::min(begin, *c.pc / myriarm::kPageBytes * myriarm::kPageBytes);
    end = std::max(end, (*c.pc / myriarm::kPageBytes + 1) * myriarm::kPageBytes);
  }
  std::vector<uint8_t> code(end - begin);
  for (const Case& c : cases) std::memcpy(code.data() + (*c.pc - begin), &c.word, 4);
  myriarm::Program program;
  program.name = file;
  program.entry = begin;
  program.segments = {{0, begin, myriarm::kRead | myriarm::kWrite, {}},
                      {begin, end - begin, myriarm::kRead | myriarm::kExecute, code},
                      {end, kMemory - end, myriarm::kRead | myriarm::kWrite, {}}};
  return program;
}

uint64_t initial(const Case& c, Field field) {
  if (field == Field::pc) return *c.pc;
  auto given = c.inputs.find(field);
  uint64_t value = given == c.inputs.end() ? 0 : given->second;
  // A case that expects a stop has room for one instruction more, so that not stopping is seen.
  if (field == Field::limit) return initial(c, Field::instructions) + (c.stop.empty() ? 1 : 2);
  return value;
}

uint64_t expected(const Case& c, Field field) {
  bool retires = c.stop.empty() || c.stop == "syscall";
  if (field == Field::pc) {
    if (c.pc_address) return *c.pc_address;
    return *c.pc + static_cast<uint64_t>(c.pc_offset.value_or(retires ? 4 : 0));
  }
  if (field == Field::instructions) return initial(c, field) + (retires ? 1 : 0);
  auto given = c.outputs.find(field);
  return given == c.outputs.end() ? initial(c, field) : given->second;
}

Pieces given_memory(const std::vector<Case>& cases) {
  Pieces pieces;
  for (size_t lane = 0; lane < cases.size(); lane++) {
    for (const auto& [address, data] : cases[lane].memory_in) pieces.add(lane, address, data);
  }
  return pieces;
}

Pieces expected_memory(const std::vector<Case>& cases) {
  Pieces pieces;
  for (size_t lane = 0; lane < cases.size(); lane++) {
    std::map<uint64_t, uint8_t> bytes;
    for (const Bytes* layer : {&cases[lane].memory_in, &cases[lane].memory_out}) {
      for (const auto& [address, data] : *layer) {
        for (size_t i = 0; i < data.size(); i++) bytes[address + i] = data[i];
      }
    }
    for (auto it = bytes.begin(); it != bytes.end();) {
      uint64_t start = it->first;
      std::vector<uint8_t> run;
      while (it != bytes.end() && it->first == start + run.size()) run.push_back((it++)->second);
      pieces.add(lane, start, run);
    }
  }
  return pieces;
}

void set_inputs(myriarm::Fleet& fleet, const std::vector<Case>& cases) {
  std::vector<uint64_t> values(cases.size());
  for (unsigned f = 0; f < static_cast<unsigned>(Field::count); f++) {
    auto field = static_cast<Field>(f);
    std::transform(cases.begin(), cases.end(), values.begin(), [&](const Case& c) { return initial(c, field); });
    fleet.set_all(field, values);
  }
  Pieces given = given_memory(cases);
  fleet.write(given.transfers, given.buffer);
}

std::string name_of(Field field) {
  auto n = static_cast<unsigned>(field), low = static_cast<unsigned>(Field::v0_low);
  if (n <= 30) return "x" + std::to_string(n);
  if (n >= low) return "v" + std::to_string((n - low) % 32) + (n - low < 32 ? " (lower half)" : " (upper half)");
  constexpr const char* kNames[] = {"sp", "pc", "nzcv", "tpidr", "fpcr", "fpsr", "instructions", "limit"};
  return kNames[n - 31];
}

std::string hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace ins
