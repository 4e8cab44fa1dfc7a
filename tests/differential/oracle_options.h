// SPDX-License-Identifier: Apache-2.0
// Shared by the tests that compare with an oracle: the command line, and which rows they compare.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "exclusions.h"

namespace myriarm::differential {

struct OracleOptions {
  uint64_t seed = 1;
  uint64_t instructions = 1'000'000;
  std::string device = "cpu";  // or the device that MYRIARM_TEST_DEVICE names
  std::string row;
  std::optional<uint64_t> batch;
  std::optional<uint32_t> lane;
  uint32_t failures = 5;  // reported before the test gives up
  bool keep_going = false;
};

/// A command line that repeats one case: seed, row, device, `own` options, batch and case.
std::string reproduce(const OracleOptions& options, const char* program, const std::string& own, uint64_t batch,
                      uint32_t lane);

/// main() of such a test. `own` handles an option of this test by name and value, and returns false if it has none of
/// that name. Returns the result of `run`, or 2 after a mistake in the arguments or an exception, which it prints.
int oracle_main(int argc, char** argv, const char* program, const char* usage, OracleOptions& options,
                const std::function<bool(std::string_view, const char*)>& own, const std::function<int()>& run);

/// The rows that a run compares: those of `all` that no exclusion names, or those whose name has `row` in it.
struct ComparedRows {
  std::vector<u16> rows;
  /// The rows that may be in blocks: without those that are compared only in some modes of FPCR.
  std::vector<u16> block_rows;
  std::map<u16, uint64_t> fpcr_off;  ///< by row: bits of FPCR that must be 0
};
ComparedRows compared_rows(const Exclusions& exclusions, const std::vector<u16>& all, const std::string& row);

}  // namespace myriarm::differential
