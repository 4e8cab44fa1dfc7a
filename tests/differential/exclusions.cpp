// SPDX-License-Identifier: Apache-2.0
// Reads the lists of exclusions and checks them with the table and an oracle.
#include "exclusions.h"

#include <fnmatch.h>

#include <cstdio>

namespace myriarm::differential {
namespace {

constexpr uint64_t kFz = 1 << 24;

// Each list depends on the version of its oracle; entries for other versions are left out.
#define EXCLUDE_ROW(row, when, check, reason) \
  if (when) list.push_back({row, false, (check) == differs, 0, reason});
#define EXCLUDE_GROUP(group, when, check, reason) \
  if (when) list.push_back({group, true, (check) == differs, 0, reason});
#define EXCLUDE_MODE(row, fpcr, when, check, reason) \
  if (when) list.push_back({row, false, (check) == differs, fpcr, reason});
enum Check { exists, differs };
constexpr bool any = true;

}  // namespace

Exclusions unicorn_exclusions(OracleVersion version) {
  const bool in_2_0 = version.major == 2 && version.minor == 0;
  Exclusions list;
#include "exclusions.inc"
  return list;
}

Exclusions qemu_exclusions(OracleVersion version) {
  auto before = [&](unsigned major, unsigned minor = 0, unsigned micro = 0) {
    return version < OracleVersion{major, minor, micro};
  };
  Exclusions list;
#include "exclusions_qemu.inc"
  return list;
}

#undef EXCLUDE_ROW
#undef EXCLUDE_GROUP
#undef EXCLUDE_MODE

bool matches(const Exclusion& exclusion, u16 row) {
  const std::string name(exclusion.is_group ? kRowInfos[row].group : kRowInfos[row].name);
  return fnmatch(exclusion.name.c_str(), name.c_str(), 0) == 0;
}

bool is_excluded(const Exclusions& exclusions, u16 row) {
  for (const Exclusion& exclusion : exclusions) {
    if (exclusion.fpcr == 0 && matches(exclusion, row)) return true;
  }
  return false;
}

std::map<u16, uint64_t> fpcr_exclusions(const Exclusions& exclusions, const std::vector<u16>& rows) {
  std::map<u16, uint64_t> found;
  for (u16 row : rows) {
    for (const Exclusion& exclusion : exclusions) {
      if (exclusion.fpcr != 0 && matches(exclusion, row)) found[row] |= exclusion.fpcr;
    }
  }
  return found;
}

int check_exclusions(const Exclusions& exclusions, const char* file, const char* oracle, const std::vector<u16>& rows,
                     const std::function<bool(u16)>& differs_alone) {
  int wrong = 0;
  for (const Exclusion& exclusion : exclusions) {
    bool is_row = false;
    for (u16 row : rows) {
      if (!matches(exclusion, row)) continue;
      is_row = true;
      if (!exclusion.must_differ || differs_alone(row)) continue;
      std::printf("%s: %s agrees with %s in some thousand cases, contrary to the entry %s: remove the entry\n", file,
                  std::string(kRowInfos[row].name).c_str(), oracle, exclusion.name.c_str());
      wrong++;
    }
    if (is_row) continue;
    std::printf("%s: %s is not an implemented row or group: remove the entry\n", file, exclusion.name.c_str());
    wrong++;
  }
  return wrong;
}

}  // namespace myriarm::differential
