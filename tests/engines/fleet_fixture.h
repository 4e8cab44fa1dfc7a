// SPDX-License-Identifier: Apache-2.0
// What the tests of the fleet share: device and engine from MYRIARM_TEST_DEVICE and MYRIARM_TEST_ENGINE, programs made
// of instruction words, and functions for frequent calls of a fleet.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "../until.h"
#include "guest_words.h"
#include "myriarm/myriarm.h"

namespace fleet_test {

using myriarm::Engine;
using myriarm::FaultKind;
using myriarm::Field;
using myriarm::Fleet;
using myriarm::FleetOptions;
using myriarm::kExecute;
using myriarm::kPageBytes;
using myriarm::kRead;
using myriarm::kWrite;
using myriarm::Program;
using myriarm::Segment;
using myriarm::Stop;
using myriarm::StopReason;
using myriarm::Transfer;
using myriarm::x;
using myriarm::test::until;

using Words = std::vector<uint32_t>;

// The segments of the programs below. The window ends at kEnd; pages between the segments are not mapped.
constexpr uint64_t kCode = 0x10000;       // read, execute
constexpr uint64_t kOtherCode = 0x1A000;  // read, write, execute: one page of zeros in the program
constexpr uint64_t kData = 0x20000;       // read, write: 4 pages, of which the first two hold bytes
constexpr uint64_t kConstant = 0x28000;   // read
constexpr uint64_t kWriteOnly = 0x2A000;
constexpr uint64_t kNoAccess = 0x2C000;  // a page without permissions
constexpr uint64_t kUnmapped = 0x30000;
constexpr uint64_t kEnd = 0x40000;

/// One lane, a part of a team, more than one team.
constexpr uint64_t kFleetSizes[] = {1, 5, 40};

inline std::vector<uint8_t> bytes_of(const Words& words) {
  std::vector<uint8_t> bytes(words.size() * 4);
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

/// The byte that the program has at an address of kData and kConstant.
constexpr uint8_t initial_byte(uint64_t address) { return static_cast<uint8_t>(address * 7 + (address >> 8)); }

inline std::vector<uint8_t> initial_bytes(uint64_t address, uint64_t size) {
  std::vector<uint8_t> bytes(size);
  for (uint64_t i = 0; i < size; i++) bytes[i] = initial_byte(address + i);
  return bytes;
}

/// Bytes as a little-endian number, at most 8.
inline uint64_t number_of(std::span<const uint8_t> bytes) {
  uint64_t value = 0;
  std::memcpy(&value, bytes.data(), bytes.size());
  return value;
}

inline Program program_of(const Words& words, uint32_t code_permissions = kRead | kExecute) {
  Program program;
  program.name = "test";
  program.entry = kCode;
  program.stack_pointer = kData + 4 * kPageBytes;
  program.segments = {
      {kCode, (words.size() * 4 + kPageBytes - 1) / kPageBytes * kPageBytes, code_permissions, bytes_of(words)},
      {kOtherCode, kPageBytes, kRead | kWrite | kExecute, {}},
      {kData, 4 * kPageBytes, kRead | kWrite, initial_bytes(kData, 2 * kPageBytes)},
      {kConstant, kPageBytes, kRead, initial_bytes(kConstant, kPageBytes)},
      {kWriteOnly, kPageBytes, kWrite, initial_bytes(kWriteOnly, kPageBytes)},
      {kNoAccess, kPageBytes, 0, initial_bytes(kNoAccess, kPageBytes)}};
  return program;
}

/// The engine of MYRIARM_TEST_ENGINE; the interpreter if it is not set.
inline Engine engine_of_test() {
  const char* name = std::getenv("MYRIARM_TEST_ENGINE");
  if (name == nullptr) return Engine::interpreter;
  for (const Engine engine : {Engine::interpreter, Engine::stepper, Engine::translate}) {
    if (name == std::string(myriarm::name(engine))) return engine;
  }
  throw std::invalid_argument("MYRIARM_TEST_ENGINE names no engine: " + std::string(name));
}

inline FleetOptions options_of(uint64_t lanes, uint64_t memory = kEnd - kCode) {
  const char* device = std::getenv("MYRIARM_TEST_DEVICE");
  FleetOptions options;
  options.device = device != nullptr ? device : "cpu";
  options.lanes = lanes;
  options.memory = memory;
  options.engine = engine_of_test();
  return options;
}
inline bool on_cpu() { return options_of(1).device == "cpu"; }

inline Fleet fleet_of(const Words& words, uint64_t lanes = 1, uint32_t code_permissions = kRead | kExecute) {
  return Fleet(program_of(words, code_permissions), options_of(lanes));
}

inline std::vector<uint32_t> lanes_up_to(uint64_t count) {
  std::vector<uint32_t> lanes(count);
  std::iota(lanes.begin(), lanes.end(), 0u);
  return lanes;
}
inline std::vector<uint32_t> all_lanes(const Fleet& fleet) { return lanes_up_to(fleet.lanes()); }
/// Every other lane, from lane 0 on.
inline std::vector<uint32_t> even_lanes(const Fleet& fleet) {
  std::vector<uint32_t> lanes;
  for (uint32_t lane = 0; lane < fleet.lanes(); lane += 2) lanes.push_back(lane);
  return lanes;
}

/// Sets a field of each lane to a function of its number.
template <class Function>
void set_each(Fleet& fleet, Field field, Function value) {
  std::vector<uint64_t> values(fleet.lanes());
  for (uint64_t lane = 0; lane < values.size(); lane++) values[lane] = value(lane);
  fleet.set_all(field, values);
}

/// A field of every lane, in one call: on a GPU each call waits for the device.
inline std::vector<uint64_t> values_of(const Fleet& fleet, Field field) {
  std::vector<uint64_t> values(fleet.lanes());
  fleet.get_all(field, values);
  return values;
}
/// `size` bytes at `address` of every lane, in one call.
inline std::vector<std::vector<uint8_t>> memory_of(const Fleet& fleet, uint64_t address, uint32_t size) {
  std::vector<Transfer> transfers;
  for (uint32_t lane = 0; lane < fleet.lanes(); lane++) transfers.push_back({lane, size, address, lane * size});
  std::vector<uint8_t> buffer(transfers.size() * size);
  std::vector<uint32_t> done(transfers.size());
  fleet.read(transfers, buffer, done);
  EXPECT_EQ(done, std::vector<uint32_t>(transfers.size(), size));
  std::vector<std::vector<uint8_t>> memory;
  for (auto at = buffer.begin(); at != buffer.end(); at += size) memory.emplace_back(at, at + size);
  return memory;
}

/// Lane and stop, for messages.
inline std::string describe(uint64_t lane, const Stop& stop) {
  return "lane " + std::to_string(lane) + ": " + name(stop.reason) + ", fault " + name(stop.fault) + ", detail " +
         std::to_string(stop.detail) + ", address " + std::to_string(stop.address);
}

inline void expect_stop(const Fleet& fleet, uint64_t lane, const Stop& wanted) {
  const Stop& stop = fleet.stops()[lane];
  EXPECT_TRUE(stop.reason == wanted.reason && stop.fault == wanted.fault && stop.detail == wanted.detail &&
              stop.address == wanted.address)
      << describe(lane, stop) << "\nexpected " << describe(lane, wanted);
}
inline void expect_all_stopped(const Fleet& fleet, const Stop& wanted) {
  for (uint64_t lane = 0; lane < fleet.lanes(); lane++) expect_stop(fleet, lane, wanted);
}

constexpr Stop halt(uint32_t imm16 = 0) { return {StopReason::halt, FaultKind::none, imm16, 0}; }
constexpr Stop fault(FaultKind kind, uint64_t address) { return {StopReason::fault, kind, 0, address}; }
constexpr Stop plain(StopReason reason) { return {reason, FaultKind::none, 0, 0}; }

}  // namespace fleet_test
