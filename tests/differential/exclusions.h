// SPDX-License-Identifier: Apache-2.0
// What is not compared with an oracle, and why: exclusions.inc for Unicorn, exclusions_qemu.inc for QEMU. Each entry
// must be needed for the version of the oracle in use.
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
  std::string name;  ///< * stands for any text
  bool is_group;
  bool must_differ;
  /// The row is compared only in single instructions with these bits of FPCR 0. If `fpcr` is 0, it is never compared.
  uint64_t fpcr;
  std::string reason;
};
using Exclusions = std::vector<Exclusion>;
Exclusions unicorn_exclusions(OracleVersion version);
Exclusions qemu_exclusions(OracleVersion version);

bool matches(const Exclusion& exclusion, u16 row);
/// Whether the row is not compared in any mode.
bool is_excluded(const Exclusions& exclusions, u16 row);
/// The rows of `rows` that are compared only with some bits of FPCR 0, and those bits.
std::map<u16, uint64_t> fpcr_exclusions(const Exclusions& exclusions, const std::vector<u16>& rows);

/// Prints and counts the entries of the file that are wrong: names that match no row of `rows`, and rows that agree
/// with the oracle. differs_alone(row): whether one of some thousand random cases of that row alone differs.
int check_exclusions(const Exclusions& exclusions, const char* file, const char* oracle, const std::vector<u16>& rows,
                     const std::function<bool(u16)>& differs_alone);

}  // namespace myriarm::differential
