// SPDX-License-Identifier: Apache-2.0
// Has code predecoded that the host or a guest has written: asks the device which teams run from other code than their
// program's, groups them, and gives each group a span. docs/design/written-code.md says when and why.
#include <algorithm>
#include <array>
#include <bit>
#include <chrono>

#include "backends/cuda/cuda_backend.h"
#include "myriarm/error.h"

namespace myriarm::cuda {
namespace {

using std::chrono::steady_clock;

/// Spans that no team uses, by the blocks that they were allocated in: how many of these are kept, since a restore
/// often brings code back.
constexpr u64 kKeptBlocks = 4;
/// What predecoded spans of a fleet with flat memory, which has no pool, may take.
constexpr u64 kMostFlatCode = u64{8} << 30;
/// The most spans that one launch fills: those of a dimension of its grid.
constexpr u64 kMostFresh = 65535;
/// What a span takes beyond these: more than there is room.
constexpr u64 kTooManyWords = u64{1} << 60;

constexpr u64 words_in(u64 bytes) { return bytes / sizeof(Operands); }

}  // namespace

CodeSpan CudaBackend::span_of_variant(u32 number) const { return span_of(*code_variants_, number); }

CodeSpan CudaBackend::span_of(const CodeVariants& variants, u32 number) const {
  if (variants.is_program(number)) return program_spans_[number];
  const CodeVariants::Variant& variant = variants.made(number);
  return {code_blocks_.at(variant.block)[variant.index].words(), static_cast<u32>(variant.pages.first << kPageBits),
          static_cast<u32>(variant.pages.count << kPageBits)};
}

void CudaBackend::update_common_code() {
  // The kernel for one span ends the launch for a team that changes a page of it.
  const bool common = has_common_code() && !code_wanted_ && settling_code_.is_settled(steady_clock::now());
  view_.common_code = common ? span_of_variant(code_variants_->of_team(0)) : CodeSpan{};
}

bool CudaBackend::has_common_code() const {
  return !spaces_ && code_variants_->is_common(code_variants_->of_team(0)) &&
         (!group_variants_ || group_variants_->is_common(CodeVariants::kFirstProgram));
}

void CudaBackend::guests_have_changed_code() { settling_code_.changed(steady_clock::now()); }

void CudaBackend::look_at_code_once_settled(Control& control) {
  const auto now = steady_clock::now();
  if (!has_common_code() || settling_code_.is_settled(now)) return;
  const u64 ticks = settling_code_.ticks_left(now);
  control.launch_ticks = control.launch_ticks == 0 ? ticks : std::min(control.launch_ticks, ticks);
}

u64 CudaBackend::code_bytes() const {
  u64 bytes = 0;
  for (const auto& [number, block] : code_blocks_) {
    for (const SpanMemory& span : block) bytes += span.bytes();
  }
  return bytes;
}

u64 CudaBackend::code_bytes_in_use() const {
  const u64 of_groups = group_variants_ ? group_variants_->words_in_use() : 0;
  return (code_variants_->words_in_use() + of_groups) * sizeof(Operands);
}

u64 CudaBackend::room_for_code() {
  if (code_gave_way_) return 0;
  if (is_flat(view_)) return words_in(kMostFlatCode - std::min(kMostFlatCode, code_bytes()));
  const Pool state = pool();
  if (!pool_is_automatic_) return words_in(u64{state.end - std::min(state.next, state.end)} << kPageBits);
  const u64 taken = (u64{state.end - state.first} << kPageBits) + code_bytes();
  return words_in(pool_limit_ - std::min(pool_limit_, taken));
}

void CudaBackend::set_code_units(u64 units) {
  if (is_flat(view_) || pool_is_automatic_ || units == code_units_) return;
  Pool state = pool();
  // Failed allocations have moved `next` past the end.
  const u32 whole = (state.end - state.first) / view_.frame_units * view_.frame_units;
  state.next = std::min(state.next, state.first + whole);
  state.end = static_cast<u32>(state.end + code_units_ - units);
  code_units_ = units;
  device_pool_.upload(std::span(&state, 1), stream_);
  synchronize("taking memory for code from the pool");
}

void CudaBackend::free_unused_code(u64 keep) {
  std::vector<u32> blocks = code_variants_->forget_unused(keep);
  if (group_variants_) {
    const std::vector<u32> of_groups = group_variants_->forget_unused(keep);
    blocks.insert(blocks.end(), of_groups.begin(), of_groups.end());
  }
  if (blocks.empty()) return;
  for (u32 block : blocks) code_blocks_.erase(block);
  set_code_units((code_bytes() + kPageSize - 1) >> kPageBits);
}

bool CudaBackend::give_way_to_frames() {
  if (code_blocks_.empty()) return false;
  for (u32 team = 0; team < view_.teams; team++) code_variants_->give_program(team, program_of_team_[team]);
  for (u32 table = view_.teams; table < view_.table_count; table++) code_variants_->give_program(table, 0);
  for (u32 table = 0; table < view_.table_count; table++) has_no_group(table);
  launch_drop_code(view_, stream_);
  synchronize("giving memory of code back to the pool");
  free_unused_code(0);
  update_common_code();
  code_gave_way_ = true;
  return true;
}

bool CudaBackend::make_room() { return (pool_is_automatic_ && grow_automatically()) || give_way_to_frames(); }

void CudaBackend::has_no_group(u32 table) {
  if (group_variants_) group_variants_->give_program(table, CodeVariants::kFirstProgram);
}

std::map<u32, std::vector<u32>> CudaBackend::find_code(const CodeVariants::Plan& wanted, CodeOf of) {
  std::map<u32, std::vector<u32>> pages_of;
  if (wanted.fresh.empty()) return pages_of;
  std::vector<u32> teams;
  u64 pages = 0;
  for (const auto& [number, variant] : wanted.fresh) {
    teams.push_back(variant.key.team);
    pages = std::max(pages, variant.pages.count);
  }
  constexpr const char* kLooking = "looking for code";
  const u64 words = (pages + 31) / 32;
  DeviceArray<u32> device_teams(teams.size(), kLooking), found(words * teams.size(), kLooking);
  device_teams.upload(teams, stream_);
  check(cudaMemsetAsync(found.data(), 0, found.bytes(), stream_), kLooking);
  launch_find_code(view_, device_teams.data(), static_cast<u32>(teams.size()), pages, of, found.data(), stream_);
  std::vector<u32> bits(words * teams.size());
  check(cudaMemcpyAsync(bits.data(), found.data(), found.bytes(), cudaMemcpyDeviceToHost, stream_), kLooking);
  synchronize(kLooking);
  u64 at = 0;
  for (const auto& [number, variant] : wanted.fresh) {
    std::vector<u32>& of_team = pages_of[variant.key.team];
    for (u32 word = 0; word < words; word++) {
      for (u32 rest = bits[at + word]; rest != 0; rest &= rest - 1) {
        const u32 page = word * 32 + static_cast<u32>(std::countr_zero(rest));
        if (page < variant.pages.count) of_team.push_back(page);
      }
    }
    at += words;
  }
  return pages_of;
}

/// False if the device has too little memory.
bool CudaBackend::allocate_code(const CodeVariants::Plan& plan, std::map<u32, std::vector<u32>>& pages_of, u32 block) {
  try {
    std::vector<SpanMemory>& spans = code_blocks_[block];
    for (const auto& [number, variant] : plan.fresh) {
      spans.emplace_back(variant.pages.count, std::move(pages_of.at(variant.key.team)), device_, code_background_,
                         stream_);
    }
  } catch (const DeviceError&) {
    cudaGetLastError();  // a later check must not find this error
    code_blocks_.erase(block);
    return false;
  }
  set_code_units((code_bytes() + kPageSize - 1) >> kPageBits);
  return true;
}

void CudaBackend::upload_new_code(std::span<NewCode> fresh, std::span<const u32> pages) {
  code_pages_.resize(std::max<u64>(pages.size(), 1), "allocating call arguments");
  code_pages_.upload(pages, stream_);
  u64 at = 0;
  for (NewCode& code : fresh) {
    code.pages = code_pages_.data() + at;
    at += code.count;
  }
  new_code_.resize(fresh.size(), "allocating call arguments");
  new_code_.upload(fresh, stream_);
}

std::array<std::vector<CodeKey>, 2> CudaBackend::describe_code() {
  constexpr const char* kLooking = "looking for code";
  const u64 tables = view_.table_count;
  code_count_.resize(2, "allocating call results");
  code_keys_.resize(2 * tables, "allocating call results");
  CodeKey* const groups = group_variants_ ? code_keys_.data() + tables : nullptr;
  check(cudaMemsetAsync(code_count_.data(), 0, 2 * sizeof(u32), stream_), kLooking);
  launch_describe_code(view_, code_keys_.data(), image_, code_count_.data(), groups, code_count_.data() + 1, stream_);
  std::array<u32, 2> counts = {};
  check(cudaMemcpyAsync(counts.data(), code_count_.data(), sizeof counts, cudaMemcpyDeviceToHost, stream_), kLooking);
  synchronize(kLooking);
  std::array<std::vector<CodeKey>, 2> keys;
  for (size_t of = 0; of < 2; of++) {
    keys[of].resize(counts[of]);
    if (counts[of] == 0) continue;
    check(cudaMemcpyAsync(keys[of].data(), code_keys_.data() + of * tables, counts[of] * sizeof(CodeKey),
                          cudaMemcpyDeviceToHost, stream_),
          kLooking);
  }
  synchronize(kLooking);
  return keys;
}

void CudaBackend::predecode_teams() {
  const auto [keys, groups] = describe_code();
  if (keys.empty()) return;
  // A further table runs the span that its parent had, which the books do not know. Before spans are freed, it runs none.
  std::vector<TeamCode> unknown;
  for (const CodeKey& key : keys) {
    if (key.team < view_.teams) continue;
    CodeSpan span = program_spans_[key.program];
    span.bytes = 0;
    unknown.push_back({span, key.team, key.program});
    code_variants_->give_program(key.team, 0);
  }
  if (!unknown.empty()) {
    team_codes_.resize(unknown.size(), "allocating call arguments");
    team_codes_.upload(unknown, stream_);
    launch_assign_code(view_, image_, team_codes_.data(), static_cast<u32>(unknown.size()), CodeOf::teams, stream_);
    synchronize("looking for code");
  }
  for (const CodeKey& key : keys) has_no_group(key.team);
  give_spans(*code_variants_, keys, CodeOf::teams);
  if (!groups.empty()) give_spans(*group_variants_, groups, CodeOf::groups);
  free_unused_code(kKeptBlocks);
  update_common_code();
}

void CudaBackend::give_spans(CodeVariants& variants, std::span<const CodeKey> keys, CodeOf of) {
  const u64 piece = mapped_piece(device_);
  std::map<u32, std::vector<u32>> pages_of;
  const auto words_of = [&](const CodeKey& key) {
    const auto found = pages_of.find(key.team);
    if (found == pages_of.end()) return kTooManyWords;
    return words_in(span_bytes(variants.span_of(key).count, found->second, piece));
  };
  // Then a plan's words are a number of variants.
  const auto one_word = [](const CodeKey&) { return u64{1}; };
  CodeVariants::Plan plan = variants.plan(keys, 0, one_word);
  for (const bool frees : {false, true}) {
    if (plan.complete || code_gave_way_) break;
    if (frees) free_unused_code(0);
    pages_of = find_code(variants.plan(keys, kMostFresh, one_word), of);
    plan = variants.plan(keys, room_for_code(), words_of);
  }
  const u32 block = next_code_block_;
  if (!plan.fresh.empty() && !allocate_code(plan, pages_of, block)) plan = variants.plan(keys, 0, one_word);
  next_code_block_ += !plan.fresh.empty();
  variants.carry_out(plan, block);

  std::vector<NewCode> fresh;
  u64 most_pages = 0;
  std::vector<u32> pages;
  for (const auto& [number, variant] : plan.fresh) {
    const std::vector<u32>& fill = code_blocks_.at(block)[variant.index].pages_to_fill();
    fresh.push_back({span_of(variants, number), variant.key.team, static_cast<u32>(fill.size()), nullptr});
    pages.insert(pages.end(), fill.begin(), fill.end());
    most_pages = std::max<u64>(most_pages, fill.size());
  }
  std::vector<TeamCode> teams;
  teams.reserve(plan.variant_of.size());
  std::map<u32, u32> program_of;
  for (const CodeKey& key : keys) program_of[key.team] = key.program;
  for (const auto& [team, number] : plan.variant_of)
    teams.push_back({span_of(variants, number), team, program_of.at(team)});
  if (!fresh.empty()) {
    upload_new_code(fresh, pages);
    launch_predecode_teams(view_, image_, new_code_.data(), static_cast<u32>(fresh.size()), most_pages, of, stream_);
  }
  if (!teams.empty()) {
    team_codes_.resize(teams.size(), "allocating call arguments");
    team_codes_.upload(teams, stream_);
    launch_assign_code(view_, image_, team_codes_.data(), static_cast<u32>(teams.size()), of, stream_);
  }
  synchronize("predecoding written code");
}

void CudaBackend::predecode_if_due() {
  const bool due = code_wanted_ && code_delay_.is_over(steady_clock::now());
  if (host_wrote_code_) {
    code_delay_.begin_again();
    settling_code_.begin_again();
  }
  if (!host_wrote_code_ && !code_restored_ && !due) return;
  const bool restored_only = !host_wrote_code_ && !due;
  host_wrote_code_ = code_restored_ = code_wanted_ = false;
  const auto begin = steady_clock::now();
  predecode_teams();
  const auto end = steady_clock::now();
  if (!restored_only) code_delay_.begin(end, end - begin);
}

}  // namespace myriarm::cuda
