// SPDX-License-Identifier: Apache-2.0
// Makes the array kRowInfos of row_info.h from a64.inc, at compile time. Only row_info.cpp, which defines the array,
// and table_checks.cpp include this file.
#pragma once

#include "isa/row_info.h"

namespace myriarm {
namespace row_info_detail {

struct Entry {
  bool is_group;
  RowInfo info;
};

constexpr RowStatus status_of(std::string_view semantics) {
  return semantics == "todo" ? RowStatus::todo : RowStatus::implemented;
}

// clang-format off
#define GROUP(name, title) {true, {{}, {}, {}, {}, {}, {}, #name, title}},
#define A64(name, syntax, bits, form, semantics, feature)                                                  \
  {false,                                                                                                  \
   {#name, syntax, bits, #semantics, #feature, {}, {}, {}, Form::form, RowFamily::MYR_ROW_FAMILY, \
    status_of(#semantics)}},
#define UNDEFINED(name, bits, reason) \
  {false,                             \
   {#name, {}, bits, {}, "BASE", reason, {}, {}, Form::none, RowFamily::MYR_ROW_FAMILY, RowStatus::undefined}},
// Each array ends with an entry that is not a row, because a file of the table may be empty.
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

}  // namespace row_info_detail

/// The elements of kRowInfos.
constexpr std::array<RowInfo, kRowCount> make_row_infos() {
  std::array<RowInfo, kRowCount> rows = {};
  u32 row = 1;  // in the order of a64.inc; table_checks.cpp checks that the names agree
  row = row_info_detail::append(rows, row, row_info_detail::kDataProcessing);
  row = row_info_detail::append(rows, row, row_info_detail::kBranchSystem);
  row = row_info_detail::append(rows, row, row_info_detail::kLoadStore);
  row = row_info_detail::append(rows, row, row_info_detail::kFloatingPoint);
  row = row_info_detail::append(rows, row, row_info_detail::kSimd);
  row_info_detail::append(rows, row, row_info_detail::kCrypto);
  return rows;
}

}  // namespace myriarm
