// SPDX-License-Identifier: Apache-2.0
// Puts the programs' pages on the device, and their instructions, which the host predecodes.
#include <algorithm>
#include <cstring>

#include "backends/cuda/cuda_backend.h"
#include "backends/cuda/row_numbers.h"
#include "isa/control_flow.h"
#include "isa/decoder.h"
#include "myriarm/error.h"

namespace myriarm::cuda {
namespace {

constexpr u64 kMiB = u64{1} << 20;
/// The most bytes of the one span of the window whose code is predecoded. Code outside the span is decoded as it runs.
constexpr u64 kMostCodeBytes = 64 * kMiB;
/// The most guest bytes of predecoded code, over all programs: on the device each takes four.
constexpr u64 kMostCodeOfAll = u64{2} << 30;

std::vector<DeviceRow> device_rows() {
  std::vector<DeviceRow> rows(kRowCount);
  for (u16 row = 0; row < kRowCount; row++) {
    const u16 number = kSemantics.id[row];
    const bool call_or_return = flow_of(row) == Flow::call || flow_of(row) == Flow::ret;
    if (number == 0) {
      rows[row] = {kKindOutOfLine, kRowNotImplemented};
    } else if (kRareRows.has[row]) {
      rows[row] = {kKindOutOfLine, static_cast<u16>(kFirstRareRow + number - 1)};
    } else {
      rows[row] = {static_cast<u16>(kFirstKind + number - 1), call_or_return ? kRowCallOrReturn : u16{0}};
    }
  }
  return rows;
}

/// Whether a relative branch at an offset of the window has its target there. The interpreter's fast path does not
/// check.
bool stays_inside(const Operands& branch, u64 at, u64 window) {
  return at + static_cast<u64>(static_cast<i64>(branch.offset)) < window;
}

/// A decoded word as the device dispatches on it.
Operands device_word(Operands o, const std::vector<DeviceRow>& rows, u64 at, u64 window) {
  DeviceRow row = rows[o.row];
  if (is_relative(o.row) && !stays_inside(o, at, window)) row = {kKindOutOfLine, kRowNotPredecoded};
  o.kind = row.kind;
  o.row = row.row;
  return o;
}

/// Whether a word can run together with the branch after it. Both are as decode() gives them.
bool can_fold(const Operands& o, const Operands& next, u64 next_at, u64 window) {
  const bool plain = flow_of(o.row) == Flow::next && kSemantics.id[o.row] != 0 && !kRareRows.has[o.row];
  const bool branch = next.row == kRow_B_only_branch_imm || next.row == kRow_B_only_condbranch;
  return plain && branch && next.offset / 4 >= -512 && next.offset / 4 < 512 && stays_inside(next, next_at, window);
}

u16 folded_branch(const Operands& branch) {
  const u32 always = 14;
  const u32 cond = branch.row == kRow_B_only_branch_imm ? always : branch.aux;
  return static_cast<u16>(kRowFoldedBranch | cond << 10 | (static_cast<u32>(branch.offset / 4) & 0x3FF));
}

bool is_code(const ImagePage& page) { return (page.permissions & kExecute) && !page.bytes.empty(); }

}  // namespace

void CudaBackend::load_image(const Image& image) {
  // The span of the window that is predecoded.
  u64 first = ~u64{0}, last = 0;
  for (const ImageProgram& program : image.programs) {
    for (const ImagePage& page : program.pages) {
      if (is_code(page)) first = std::min(first, page.page);
    }
  }
  for (const ImageProgram& program : image.programs) {
    for (const ImagePage& page : program.pages) {
      if (is_code(page) && (page.page - first + 1) << kPageBits <= kMostCodeBytes) last = std::max(last, page.page);
    }
  }
  const u64 span = first == ~u64{0} ? 0 : last - first + 1;
  if ((span << kPageBits) * image.programs.size() > kMostCodeOfAll) {
    throw ArgumentError(std::to_string(image.programs.size()) + " programs with code over " +
                        std::to_string(span >> 8) + " MiB are too many for one fleet; use several fleets");
  }

  std::vector<u8> bytes(image_units_ << kPageBits);
  std::vector<u32> base(image.programs.size() * image.window_pages);
  std::vector<u32> program_of_team;
  std::vector<u64> entries, stacks;
  u32 unit = kFirstImageUnit;
  for (size_t p = 0; p < image.programs.size(); p++) {
    const ImageProgram& program = image.programs[p];
    for (const ImagePage& page : program.pages) {
      u32 number = kZeroUnit;
      if (!page.bytes.empty()) {
        number = unit++;
        std::memcpy(bytes.data() + (static_cast<u64>(number) << kPageBits), page.bytes.data(), kPageSize);
      }
      u32 entry = number << kPageFlagBits | (page.permissions & 7) | kPageShared;
      if (is_code(page) && page.page <= last) entry |= kPageCode;
      std::fill_n(base.begin() + static_cast<i64>(p * image.window_pages + page.page), page.count, entry);
    }
    program_of_team.insert(program_of_team.end(), (program.lanes + kTeam - 1) / kTeam, static_cast<u32>(p));
    entries.insert(entries.end(), program.lanes, program.entry);
    stacks.insert(stacks.end(), program.lanes, program.stack_pointer);
  }
  u8* units = view_.frames;
  if (is_flat(view_)) {
    flat_image_.resize(bytes.size(), "allocating the program's image");
    units = flat_image_.data();
  }
  image_ = units;
  check(cudaMemcpyAsync(units, bytes.data(), bytes.size(), cudaMemcpyHostToDevice, stream_), "loading the program");
  base_tables_.resize(base.size(), "allocating page tables");
  base_tables_.upload(base, stream_);
  team_program_.resize(program_of_team.size(), "allocating the teams' programs");
  team_program_.upload(program_of_team, stream_);
  view_.base_tables = base_tables_.data();
  view_.team_program = team_program_.data();
  view_.programs = static_cast<u32>(image.programs.size());
  program_of_team_ = program_of_team;
  predecode(image, first, span);
  launch_fill_tables(view_, units, stream_);
  if (image.programs.size() == 1) {
    fill(Field::pc, entries[0]);
    fill(Field::sp, stacks[0]);
  } else {
    scatter(Field::pc, {}, entries);
    scatter(Field::sp, {}, stacks);
  }
  synchronize("loading the program");
}

void CudaBackend::predecode(const Image& image, u64 first, u64 span) {
  const DecodeTable& table = decode_table();
  decode_first_.resize(DecodeTable::kBuckets + 1, "allocating decode tables");
  decode_candidates_.resize(table.candidate_count, "allocating decode tables");
  decode_patterns_.resize(kRowCount, "allocating decode tables");
  rows_.resize(kRowCount, "allocating decode tables");
  decode_first_.upload(std::span(table.first, DecodeTable::kBuckets + 1), stream_);
  decode_candidates_.upload(std::span(table.candidates, table.candidate_count), stream_);
  decode_patterns_.upload(std::span(table.patterns, static_cast<size_t>(kRowCount)), stream_);
  const std::vector<DeviceRow> rows = device_rows();
  rows_.upload(rows, stream_);
  view_.decode = {decode_first_.data(), decode_candidates_.data(), table.candidate_count, decode_patterns_.data()};
  view_.rows = rows_.data();

  Operands outside = {};
  outside.kind = kKindOutOfLine;
  outside.row = kRowNotPredecoded;
  const u64 words = span * (kPageSize / 4), begin = first << kPageBits, window = view_.page_count << kPageBits;
  std::vector<Operands> code((1 + words) * image.programs.size(), outside);
  for (size_t p = 0; p < image.programs.size(); p++) {
    const std::span<Operands> own = std::span(code).subspan(p * (1 + words) + 1, words);
    for (const ImagePage& page : image.programs[p].pages) {
      if (!is_code(page) || page.page - first >= span) continue;
      for (u64 i = 0; i < kPageSize / 4; i++) {
        u32 word;
        std::memcpy(&word, page.bytes.data() + i * 4, 4);
        own[(page.page - first) * (kPageSize / 4) + i] = decode(table, word);
      }
    }
    for (u64 i = 0; i < words; i++) {
      if (own[i].kind == kKindOutOfLine && own[i].row == kRowNotPredecoded) continue;
      const bool folds_branch = i + 1 < words && can_fold(own[i], own[i + 1], begin + (i + 1) * 4, window);
      const Operands next = folds_branch ? own[i + 1] : Operands{};
      own[i] = device_word(own[i], rows, begin + i * 4, window);
      if (folds_branch) own[i].row |= folded_branch(next);
    }
  }
  if (span != 0) view_.code_begin = static_cast<u32>(begin);
  view_.code_words = static_cast<u32>(words);
  code_.resize(code.size(), "allocating predecoded code");
  code_.upload(code, stream_);
  view_.code = code_.data();
  synchronize("predecoding the program");
}

}  // namespace myriarm::cuda
