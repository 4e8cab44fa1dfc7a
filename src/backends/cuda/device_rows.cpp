// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/device_rows.h"

#include "backends/cuda/row_numbers.h"
#include "isa/control_flow.h"

namespace myriarm::cuda {

std::vector<DeviceRow> device_rows() {
  std::vector<DeviceRow> rows(kRowCount);
  for (u16 row = 0; row < kRowCount; row++) {
    const u16 number = kSemantics.id[row];
    const bool call_or_return = flow_of(row) == Flow::call || flow_of(row) == Flow::ret;
    u32 traits = is_relative(row) ? u32{kTraitRelative} : 0;
    if (row == kRow_B_only_branch_imm) traits |= kTraitFolds | kTraitAlways;
    if (row == kRow_B_only_condbranch) traits |= kTraitFolds;
    if (number == 0) {
      rows[row] = {kKindOutOfLine, kRowNotImplemented, traits};
    } else if (kRareRows.has[row]) {
      rows[row] = {kKindOutOfLine, static_cast<u16>(kFirstRareRow + number - 1), traits};
    } else {
      if (flow_of(row) == Flow::next) traits |= kTraitPlain;
      rows[row] = {static_cast<u16>(kFirstKind + number - 1), call_or_return ? kRowCallOrReturn : u16{0}, traits};
    }
  }
  return rows;
}

}  // namespace myriarm::cuda
