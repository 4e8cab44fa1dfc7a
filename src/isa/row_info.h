// SPDX-License-Identifier: Apache-2.0
// The text of the table's rows, for the host: names, syntax, group, feature, status. The disassembler, the checks of
// table_checks.cpp and the tests read the same data, which row_info_table.h makes from a64.inc.
#pragma once

#include <array>
#include <string_view>

#include "isa/rows.h"

namespace myriarm {

/// The file of the table that a row is in; each has its own token printers.
enum class RowFamily : u8 { none, data_processing, branch_system, load_store, floating_point, simd, crypto };

enum class RowStatus : u8 { implemented, todo, undefined };

struct RowInfo {
  std::string_view name;
  std::string_view syntax;  // empty for an UNDEFINED row
  std::string_view bits;
  std::string_view semantics;
  std::string_view feature;
  std::string_view reason;  // of an UNDEFINED row
  std::string_view group;   // the identifier that GROUP gives
  std::string_view group_title;
  Form form = Form::none;
  RowFamily family = RowFamily::none;
  RowStatus status = RowStatus::undefined;
};

/// One entry for each row, indexed by Row. Entry 0 is "no such instruction".
extern const std::array<RowInfo, kRowCount> kRowInfos;

}  // namespace myriarm
