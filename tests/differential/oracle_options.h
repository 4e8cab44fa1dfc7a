// SPDX-License-Identifier: Apache-2.0
// What the tests against an oracle share around their loops: the command line, and which rows are compared.
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
  std::string device = "cpu";  // unless MYRIARM_TEST_DEVICE names another
  std::string row;
  std::optional<uint64_t> batch;
  std::optional<uint32_t> lane;
  uint32_t failures = 5;  // told before giving up
  bool keep_going = false;
};

/// The rest of the command line that repeats one case: seed, row, device, `own` options, batch and case.
std::string reproduce(const OracleOptions& options, const char* program, const std::string& own, uint64_t batch,
                      uint32_t lane);

/// main() of such a test. `own` takes an option of this test alone, by name and value: false if there is none of that
/// name. Returns what `run` returns; 2 after a mistake in the arguments or an exception, which are told.
int oracle_main(int argc, char** argv, const char* program, const char* usage, OracleOptions& options,
                const std::function<bool(std::string_view, const char*)>& own, const std::function<int()>& run);

/// The rows that a run compares: those of `all` that no exclusion names, or those whose name has `row` in it.
struct ComparedRows {
  std::vector<u16> rows;
  /// Of these, what may stand in a block: not the rows that are compared under some modes of FPCR alone.
  std::vector<u16> block_rows;
  std::map<u16, uint64_t> fpcr_off;  ///< the bits of FPCR that must be 0 for those
};
ComparedRows compared_rows(const Exclusions& exclusions, const std::vector<u16>& all, const std::string& row);

}  // namespace myriarm::differential
