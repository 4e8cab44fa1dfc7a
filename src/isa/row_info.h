// SPDX-License-Identifier: Apache-2.0
// What the host knows about a row beyond its pattern: names, syntax, group, feature, status. Made from a64.inc and
// constant, so that the checks of table_checks.cpp and the tests read the same data as the disassembler.
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
  std::string_view form_name;
  std::string_view semantics;
  std::string_view feature;
  std::string_view reason;  // of an UNDEFINED row
  std::string_view group;   // the identifier that GROUP gives
  std::string_view group_title;
  Form form = Form::none;
  RowFamily family = RowFamily::none;
  RowStatus status = RowStatus::undefined;
};

namespace row_info_detail {

struct Entry {
  bool is_group;
  RowInfo info;
};

constexpr RowStatus status_of(std::string_view semantics) {
  return semantics == "todo" ? RowStatus::todo : RowStatus::implemented;
}

// clang-format off
#define GROUP(name, title) {true, {{}, {}, {}, {}, {}, {}, {}, #name, title}},
#define A64(name, syntax, bits, form, semantics, feature)                                                  \
  {false,                                                                                                  \
   {#name, syntax, bits, #form, #semantics, #feature, {}, {}, {}, Form::form, RowFamily::MYR_ROW_FAMILY, \
    status_of(#semantics)}},
#define UNDEFINED(name, bits, reason) \
  {false,                             \
   {#name, {}, bits, {}, {}, "BASE", reason, {}, {}, Form::none, RowFamily::MYR_ROW_FAMILY, RowStatus::undefined}},
// Each array ends in an entry that is no row, since a file of the table may be empty.
#define MYR_ROW_FAMILY data_processing
inline constexpr Entry kDataProcessing[] = {
// clang-format on
#include "isa/a64_data_processing.inc"
    {true, {}}};
#undef MYR_ROW_FAMILY
#define MYR_ROW_FAMILY branch_system
inline constexpr Entry kBranchSystem[] = {
#include "isa/a64_branch_system.inc"
    {true, {}}};
#undef MYR_ROW_FAMILY
#define MYR_ROW_FAMILY load_store
inline constexpr Entry kLoadStore[] = {
#include "isa/a64_load_store.inc"
    {true, {}}};
#undef MYR_ROW_FAMILY
#define MYR_ROW_FAMILY floating_point
inline constexpr Entry kFloatingPoint[] = {
#include "isa/a64_floating_point.inc"
    {true, {}}};
#undef MYR_ROW_FAMILY
#define MYR_ROW_FAMILY simd
inline constexpr Entry kSimd[] = {
#include "isa/a64_simd.inc"
    {true, {}}};
#undef MYR_ROW_FAMILY
#define MYR_ROW_FAMILY crypto
inline constexpr Entry kCrypto[] = {
#include "isa/a64_crypto.inc"
    {true, {}}};
#undef MYR_ROW_FAMILY
#undef GROUP
#undef A64
#undef UNDEFINED

template <size_t kSize>
constexpr u32 append(std::array<RowInfo, kRowCount>& rows, u32 row, const Entry (&entries)[kSize]) {
  std::string_view group, title;
  for (const Entry& entry : entries) {
    if (entry.is_group) {
      group = entry.info.group;
      title = entry.info.group_title;
      continue;
    }
    rows[row] = entry.info;
    rows[row].group = group;
    rows[row].group_title = title;
    row++;
  }
  return row;
}

constexpr std::array<RowInfo, kRowCount> make_row_infos() {
  std::array<RowInfo, kRowCount> rows = {};
  u32 row = 1;  // in the order of a64.inc; table_checks.cpp checks that the names agree
  row = append(rows, row, kDataProcessing);
  row = append(rows, row, kBranchSystem);
  row = append(rows, row, kLoadStore);
  row = append(rows, row, kFloatingPoint);
  row = append(rows, row, kSimd);
  append(rows, row, kCrypto);
  return rows;
}

}  // namespace row_info_detail

/// One entry for each row, indexed by Row. Entry 0 is "no such instruction".
inline constexpr std::array<RowInfo, kRowCount> kRowInfos = row_info_detail::make_row_infos();

}  // namespace myriarm
