// SPDX-License-Identifier: Apache-2.0
// The text of the table's rows, and the functions of include/myriarm/isa.h that report it: groups, rows, features.
#include "isa/row_info.h"

#include "core/system/features.h"
#include "isa/row_info_table.h"
#include "myriarm/isa.h"

namespace myriarm {

constinit const std::array<RowInfo, kRowCount> kRowInfos = make_row_infos();

std::vector<IsaGroup> isa_groups() {
  std::vector<IsaGroup> groups;
  for (u32 row = 1; row < kRowCount; row++) {
    const RowInfo& info = kRowInfos[row];
    IsaGroup* group = nullptr;
    for (IsaGroup& known : groups) {
      if (known.name == info.group_title && known.feature == info.feature) group = &known;
    }
    if (group == nullptr) {
      group = &groups.emplace_back();
      group->name = info.group_title;
      group->feature = info.feature;
    }
    group->rows++;
    switch (info.status) {
      case RowStatus::implemented: group->implemented++; break;
      case RowStatus::todo: group->todo++; break;
      case RowStatus::undefined: group->undefined++; break;
    }
  }
  return groups;
}

std::vector<IsaRow> isa_rows() {
  std::vector<IsaRow> rows;
  rows.reserve(kRowCount);
  for (u32 row = 1; row < kRowCount; row++) {
    const RowInfo& info = kRowInfos[row];
    IsaRow& out = rows.emplace_back();
    out.name = info.name;
    out.syntax = info.syntax;
    out.bits = info.bits;
    out.group = info.group_title;
    out.feature = info.feature;
    switch (info.status) {
      case RowStatus::implemented: out.status = "implemented"; break;
      case RowStatus::todo: out.status = "todo"; break;
      case RowStatus::undefined: out.status = "undefined: " + std::string(info.reason); break;
    }
  }
  return rows;
}

HardwareCapabilities hardware_capabilities() { return {kHwcap, kHwcap2}; }

}  // namespace myriarm
