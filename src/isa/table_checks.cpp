// SPDX-License-Identifier: Apache-2.0
// Checks the instruction table when it is compiled. The build stops at a bit string of the wrong length, a field that
// is not where the picture of its form has it, a form that no row uses, two rows that share a word, and a feature that
// features.inc does not have. The error message names the rows.
#include <string_view>

#include "isa/forms/fields.h"
#include "isa/row_info_table.h"

namespace myriarm {
namespace {

// kRowInfos as a constant of this file, because the checks need its elements at compile time.
constexpr std::array<RowInfo, kRowCount> kRows = make_row_infos();

struct Overlap {
  Row specific, general;
};
constexpr Overlap kOverlaps[] = {
    {kRowUndefined, kRowUndefined},
#define OVERLAP(specific, general, reason) {kRow_##specific, kRow_##general},
#include "isa/overlaps.inc"
#undef OVERLAP
};

struct Patterns {
  u32 mask[kRowCount];
  u32 value[kRowCount];
};
constexpr Patterns make_patterns() {
  Patterns patterns = {};
  for (u32 row = 1; row < kRowCount; row++) {
    if (kRows[row].bits.size() != 32) continue;
    patterns.mask[row] = fixed_mask(kRows[row].bits.data());
    patterns.value[row] = fixed_value(kRows[row].bits.data());
  }
  return patterns;
}
constexpr Patterns kPattern = make_patterns();

constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr bool is_digit(char c) { return c == '0' || c == '1'; }

constexpr bool well_formed(std::string_view bits) {
  if (bits.size() != 32) return false;
  for (char c : bits) {
    if (!is_digit(c) && !is_letter(c)) return false;
  }
  return true;
}

constexpr bool picture_well_formed(std::string_view picture) {
  if (picture.size() != 32) return false;
  for (char c : picture) {
    if (c != '.' && !is_letter(c)) return false;
  }
  return true;
}

/// Whether the row has a digit wherever the picture has a dot, and the picture's letter everywhere else.
constexpr bool matches_picture(std::string_view bits, std::string_view picture) {
  if (bits.size() != 32 || picture.size() != 32) return false;
  for (u32 i = 0; i < 32; i++) {
    if (picture[i] == '.' ? !is_digit(bits[i]) : bits[i] != picture[i]) return false;
  }
  return true;
}

constexpr bool is_called(u32 row, std::string_view text) { return kRows[row].name == text; }

constexpr bool is_used(Form form) {
  for (const RowInfo& row : kRows) {
    if (row.form == form) return true;
  }
  return false;
}

/// Whether all words of `specific` are words of `general`, and not the reverse.
[[maybe_unused]] constexpr bool is_more_specific(u32 specific, u32 general) {
  return (kPattern.mask[specific] & kPattern.mask[general]) == kPattern.mask[general] &&
         kPattern.mask[specific] != kPattern.mask[general] &&
         (kPattern.value[specific] & kPattern.mask[general]) == kPattern.value[general];
}

constexpr bool is_listed(u32 a, u32 b) {
  for (const Overlap& overlap : kOverlaps) {
    if ((overlap.specific == a && overlap.general == b) || (overlap.specific == b && overlap.general == a)) return true;
  }
  return false;
}

/// The first later row that shares words with this one although overlaps.inc does not list the two; kRowUndefined if
/// there is none.
constexpr Row unlisted_overlap(u32 row) {
  u32 mask = kPattern.mask[row], value = kPattern.value[row];
  if (mask == 0) return kRowUndefined;  // the row is malformed, which another check reports
  for (u32 other = row + 1; other < kRowCount; other++) {
    u32 common = mask & kPattern.mask[other];
    if (common != 0 && (common & (value ^ kPattern.value[other])) == 0 && !is_listed(row, other)) {
      return static_cast<Row>(other);
    }
  }
  return kRowUndefined;
}

enum class Feature : u8 {
  BASE,
#define FEATURE(name, gnu, ids, hwcaps) name,
#define ROWLESS(name, gnu, ids, hwcaps) name,
#include "core/system/features.inc"
#undef FEATURE
#undef ROWLESS
  count
};
struct RowsOfFeatures {
  u32 rows[static_cast<u32>(Feature::count)];
  u32 todo[static_cast<u32>(Feature::count)];
};
constexpr RowsOfFeatures count_rows_of_features() {
  RowsOfFeatures counts = {};
#define GROUP(name, title)
#define A64(name, syntax, bits, form, semantics, feature) \
  counts.rows[static_cast<u32>(Feature::feature)]++;      \
  counts.todo[static_cast<u32>(Feature::feature)] += kRows[kRow_##name].status != RowStatus::implemented;
#define UNDEFINED(name, bits, reason)
#include "isa/a64.inc"
#undef GROUP
#undef A64
#undef UNDEFINED
  return counts;
}
constexpr RowsOfFeatures kRowsOfFeatures = count_rows_of_features();

template <Row kRow, Row kOther>
struct SharesNoWords {
  static_assert(kOther == kRowUndefined, "these two rows share words and are not in overlaps.inc");
  static constexpr bool value = true;
};

#define GROUP(name, title)
#define A64(name, syntax, bits, form, semantics, feature)                                              \
  static_assert(well_formed(bits), #name ": the bit string is not 32 characters of 0, 1 and letters"); \
  static_assert(matches_picture(bits, kPictures[static_cast<u32>(Form::form)]),                        \
                #name ": the letters are not those of the picture of form " #form);                    \
  static_assert(is_called(kRow_##name, #name),                                                         \
                #name ": row_info_table.h has the files in another order than a64.inc");               \
  static_assert(SharesNoWords<kRow_##name, unlisted_overlap(kRow_##name)>::value);
#define UNDEFINED(name, bits, reason)                                                                  \
  static_assert(well_formed(bits), #name ": the bit string is not 32 characters of 0, 1 and letters"); \
  static_assert(SharesNoWords<kRow_##name, unlisted_overlap(kRow_##name)>::value);
#include "isa/a64.inc"
#undef GROUP
#undef A64
#undef UNDEFINED

#define FORM(name, picture)                                                                                        \
  static_assert(picture_well_formed(picture), #name ": the picture is not 32 characters, each a letter or a dot"); \
  static_assert(is_used(Form::name), #name ": no row is of this form");
#include "isa/forms.inc"
#undef FORM

#define ID(id_register, field, low, value) +1
#define HWCAP(bit) +1
#define HWCAP2(bit) +1
#define FEATURE(name, gnu, ids, hwcaps)                                                                        \
  static_assert(kRowsOfFeatures.rows[static_cast<u32>(Feature::name)] > 0, "features.inc: no row has " #name); \
  static_assert((0 ids hwcaps) == 0 || kRowsOfFeatures.todo[static_cast<u32>(Feature::name)] == 0,             \
                "features.inc: programs are told of " #name ", but a row of it has no semantics");
#define ROWLESS(name, gnu, ids, hwcaps) \
  static_assert(kRowsOfFeatures.rows[static_cast<u32>(Feature::name)] == 0, "features.inc: there are rows of " #name);
#include "core/system/features.inc"
#undef ID
#undef HWCAP
#undef HWCAP2
#undef FEATURE
#undef ROWLESS

#define OVERLAP(specific, general, reason)                         \
  static_assert(is_more_specific(kRow_##specific, kRow_##general), \
                #specific " is listed in overlaps.inc and is not more specific than " #general);
#include "isa/overlaps.inc"
#undef OVERLAP

}  // namespace
}  // namespace myriarm
