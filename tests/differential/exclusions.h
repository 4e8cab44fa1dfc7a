// SPDX-License-Identifier: Apache-2.0
// What is not compared with an oracle, and why: exclusions.inc for Unicorn, exclusions_qemu.inc for QEMU. The lists
// must stay true for the version that is asked.
#pragma once

#include <compare>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "isa/row_info.h"

namespace myriarm::differential {

struct OracleVersion {
  unsigned major = 0, minor = 0, micro = 0;
  auto operator<=>(const OracleVersion&) const = default;
};

/// One entry of a list.
struct Exclusion {
  std::string name;  ///< with * for any text
  bool is_group;
  bool must_differ;
  /// Bits of FPCR under which the row is not compared; with these 0 it is, alone. 0: it is never compared.
  uint64_t fpcr;
  std::string reason;
};
using Exclusions = std::vector<Exclusion>;
Exclusions unicorn_exclusions(OracleVersion version);
Exclusions qemu_exclusions(OracleVersion version);

bool matches(const Exclusion& exclusion, u16 row);
/// True if the row is not compared, under any mode.
bool is_excluded(const Exclusions& exclusions, u16 row);
/// Rows of `rows` that are compared with some bits of FPCR 0 only, and those bits.
std::map<u16, uint64_t> fpcr_exclusions(const Exclusions& exclusions, const std::vector<u16>& rows);

/// Prints entries of the file that no longer hold, and counts them: names that are no rows of `rows`, and rows that
/// agree with the oracle after all. differs_alone(row): one of some thousand random cases of that row alone differs.
int check_exclusions(const Exclusions& exclusions, const char* file, const char* oracle, const std::vector<u16>& rows,
                     const std::function<bool(u16)>& differs_alone);

}  // namespace myriarm::differential
