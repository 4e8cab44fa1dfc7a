// SPDX-License-Identifier: Apache-2.0
// The cases of an .ins file as lanes of a fleet, one case a lane: where each lies, what it starts from, what is
// expected.
#pragma once

#include "insn/cases.h"

namespace ins {

/// Splits cases so that no two of a group want the same pc, and gives a pc to those that have none.
std::vector<std::vector<Case>> place(const std::vector<Case>& cases);

/// Executable pages with the words of a placed group at their places, amid data pages.
myriarm::Program program_of(const std::string& file, const std::vector<Case>& cases);

/// A field of a placed case's lane, before it runs and after.
uint64_t initial(const Case& c, myriarm::Field field);
uint64_t expected(const Case& c, myriarm::Field field);

/// Pieces of the memory of many lanes, for one call of the fleet.
struct Pieces {
  std::vector<myriarm::Transfer> transfers;
  std::vector<uint8_t> buffer;

  void add(size_t lane, uint64_t address, const std::vector<uint8_t>& data) {
    transfers.push_back({static_cast<uint32_t>(lane), static_cast<uint32_t>(data.size()), address, buffer.size()});
    buffer.insert(buffer.end(), data.begin(), data.end());
  }
};

/// The bytes that the cases are given, and those that they must leave: the outputs laid over the inputs.
Pieces given_memory(const std::vector<Case>& cases);
Pieces expected_memory(const std::vector<Case>& cases);

/// Sets the fields and the memory of all lanes of a fleet that was made from program_of().
void set_inputs(myriarm::Fleet& fleet, const std::vector<Case>& cases);

std::string name_of(myriarm::Field field);
std::string hex(uint64_t value);

}  // namespace ins
