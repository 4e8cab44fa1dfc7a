// SPDX-License-Identifier: Apache-2.0
// Fleets with the backend for tests, and short names for what the tests do with them.
#pragma once

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <thread>

#include "../until.h"
#include "fake_backend.h"
#include "fake_clock.h"
#include "myriarm/myriarm.h"

namespace fleet_test {

using test::until;

inline Program program_at(uint64_t address) {
  Program program;
  program.name = "program";
  program.entry = address;
  program.segments = {{address, kPageBytes, kRead | kWrite | kExecute, {1, 2, 3, 4}},
                      {address + kPageBytes, 2 * kPageBytes, kRead | kWrite, {}}};
  return program;
}

inline Fleet fleet_of(uint64_t lanes, MemoryPolicy policy = MemoryPolicy::private_copy) {
  FleetOptions options;
  options.device = "cpu";
  options.lanes = lanes;
  options.memory = 0x10000;
  options.memory_policy = policy;
  return Fleet(program_at(0), options);
}

inline StopRecord halt() { return {StopCode::halt, FaultCode::none, 0, 0, 0}; }
inline StopRecord syscall(uint32_t immediate) { return {StopCode::syscall, FaultCode::none, 0, immediate, 0}; }

inline void set_stop(Fleet& fleet, uint32_t lane, StopReason reason) {
  const Stop stop{reason, FaultKind::none, 0, 0};
  fleet.set_stops(std::span(&lane, 1), std::span(&stop, 1));
}

inline uint64_t sum(const std::array<uint64_t, kStopReasons>& stops) {
  return std::accumulate(stops.begin(), stops.end(), uint64_t{0});
}

/// Expects that `call` throws exactly this type of Error, with a message of one line.
template <class Error, class Call>
void expect_error(Call call) {
  try {
    call();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()), "");
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another kind of error: " << error.what();
  }
}

}  // namespace fleet_test
