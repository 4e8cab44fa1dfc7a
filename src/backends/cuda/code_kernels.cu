// SPDX-License-Identifier: Apache-2.0
// Predecodes pages on the device, and finds out which teams run the same code. A team's code is its program's, except
// for the pages that differ from the program's, those of files that it may execute, and those that it has executed beside
// them. A page in which the lanes of a team differ is left out: its words are decoded as they run.
#include "backends/cuda/code_kernels.h"

#include "backends/cuda/file_code.cuh"
#include "backends/cuda/predecode.h"
#include "backends/cuda/start_kernel.cuh"
#include "backends/cuda/team_memory.cuh"

namespace myriarm::cuda {
namespace {

constexpr u32 kBlock = 128;
constexpr u32 kTeamBlock = 512;  // where a team has a block: its warps share out the pages
constexpr u32 kAll = 0xFFFFFFFFu;
constexpr u32 kGranules = kPageSize / 8;

__device__ u64 mixed(u64 hash, u64 value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15;
  return hash ^ hash >> 32;
}

/// The code of one team, page by page. Functions with `thread` are called by a whole warp.
struct TeamPages {
  const View& view;
  const u8* image;
  u32 team;       // or the number of a further table
  u32 group = 0;  // not 0: the code of these lanes, who have some split pages alike; of other pages, that of all lanes

  __device__ u32 entry(u64 page) const {
    const u32 now = *(volatile u32*)memory_of(view, team, 0).entry_place(page);
    if (group == 0 || !is_split(now)) return now;
    const volatile Split& split = splits_of(view, team)[now >> kPageFlagBits];
    if ((may_run(part_of_lane(split, (u32)__ffs(group) - 1)) & group) != group) return now;
    return split_entry(splits_of(view, team), page, now, (u32)__ffs(group) - 1);
  }
  __device__ u32 lanes() const { return lanes_of_table(view, team); }  // as a mask
  /// The lanes that may execute the pages of a part of a split.
  __device__ u32 may_run(const volatile SplitPart& part) const {
    return lanes_with(part, kExecutableBit) & lanes_of_table(view, team);
  }
  __device__ u32 first() const { return (u32)__ffs(lanes()) - 1; }
  /// The place of a lane: threads without one look at another's.
  __device__ u32 place(u32 thread) const { return lanes() >> thread & 1 ? thread : first(); }

  /// Whether the team runs a page of its program's code as the program has it.
  __device__ bool is_unchanged(u64 page, u32 thread) const {
    const u32 base = base_entry(view, team, page), now = entry(page);
    if (!(base & kPageCode)) return false;
    if (!is_flat(view)) return now == base;
    if ((now & (7 | kPageDiffer)) != (base & 7)) return false;
    const u64* from = (const u64*)(image + ((u64)(base >> kPageFlagBits) << kPageBits));
    const PagedMemory<kTeam> memory = memory_of(view, team, place(thread));
    bool same = true;
    for (u32 granule = 0; granule < kGranules; granule++)
      same &= *(const volatile u64*)memory.locate(now, granule * 8) == from[granule];
    return __all_sync(kAll, same);
  }

  /// Whether all lanes may execute a page, and it is not the page of zeros.
  __device__ bool may_execute(u64 page) const {
    const u32 now = entry(page);
    const bool zeros = (now & kPageShared) && now >> kPageFlagBits == kZeroUnit;
    if (is_common(view, now)) return false;  // its stores cannot be noticed
    return (now & (kPageExecutable | kPageDiffer)) == kPageExecutable && !zeros;
  }

  /// Whether all lanes may execute a page and have the same bytes there; then `hash` is made of them.
  __device__ bool is_alike(u64 page, u32 thread, u64& hash) const {
    if (!may_execute(page)) return false;
    const u32 now = entry(page);
    const PagedMemory<kTeam> memory = memory_of(view, team, place(thread));
    bool same = true;
    hash = page;
#pragma unroll 8
    for (u32 granule = 0; granule < kGranules; granule++) {
      const u64 own = *(const volatile u64*)memory.locate(now, granule * 8);
      const u64 of_first = __shfl_sync(kAll, own, first());
      same &= own == of_first;
      hash = mixed(hash, of_first);
    }
    return __all_sync(kAll, same);
  }

  /// As file_unit().
  __device__ u32 unit_of_file(u64 page) const { return file_unit(view, base_entry(view, team, page), entry(page)); }

  /// Whether a page whose bytes are the lanes' may be the team's own code. One thread calls it.
  __device__ bool is_candidate(u64 page) const {
    const PageHistory& history = history_of(view, team, page);
    if (history.slot == (u32)page + 1 && history.left_out != 0) return false;
    return is_program_code(view, team, page) || code_slot(view, team, page) == (u32)page + 1;
  }

  /// The predecoded word at an index of a page, from the bytes of the team's first lane.
  __device__ Operands word(u64 page, u32 index) const {
    const PagedMemory<kTeam> memory = memory_of(view, team, first());
    const u32 now = entry(page);
    auto raw = [&](u32 i) { return *(const volatile u32*)memory.locate(now, (i % kPageWords) * 4); };
    return predecode(view.decode, view.rows, raw(index), raw(index + 1), (page << kPageBits) + index * 4,
                     view.guest_pages << kPageBits);
  }
};

__device__ bool same_word(const Operands& a, const Operands& b) {
  const u64* left = (const u64*)&a;
  const u64* right = (const u64*)&b;
  return left[0] == right[0] && left[1] == right[1];
}

/// Writes the word in front of a span.
__device__ void begin_span(const CodeSpan& span) {
  Operands front = not_predecoded_word();
  front.imm = span.bytes / 4;
  *(Operands*)span.words = front;
}
__device__ Operands* words_of_page(const CodeSpan& span, u64 index) {
  return (Operands*)span.words + 1 + index * kPageWords;
}
/// As page_sources(), while the word in front may not be written yet.
__device__ u8& source_of_page(const CodeSpan& span, u64 index) {
  return ((u8*)sources_behind(span.words, span.bytes / 4))[index];
}

/// One block for each listed page of each program, and at least one.
__global__ void predecode_programs_kernel(const __grid_constant__ View view, const u8* image, const NewCode* spans) {
  const NewCode code = spans[blockIdx.y];
  if (blockIdx.x == 0 && threadIdx.x == 0) begin_span(code.span);
  if (blockIdx.x >= code.count) return;
  const u64 index = code.pages[blockIdx.x], page = (code.span.begin >> kPageBits) + index;
  const u32 base = program_entry(view, code.number, page);
  const bool is_code = (base & kPageCode) != 0;
  const u32* bytes = (const u32*)(image + ((u64)(base >> kPageFlagBits) << kPageBits));
  for (u32 i = threadIdx.x; i < kPageWords; i += blockDim.x) {
    words_of_page(code.span, index)[i] = is_code
                                             ? predecode(view.decode, view.rows, bytes[i], bytes[(i + 1) % kPageWords],
                                                         (page << kPageBits) + i * 4, view.guest_pages << kPageBits)
                                             : not_predecoded_word();
  }
  if (threadIdx.x == 0) source_of_page(code.span, index) = is_code ? kProgramCode : kNoCode;
}

/// Those lanes of a table that have the most code in split pages alike; 0: there is none. `page_counts`: how many pages the table has of
/// each split.
__device__ u32 choose_group(const TeamPages& pages, const u32* page_counts) {
  u32 group = 0, most = 0;
  for (u32 split = 0; split < kSplits; split++) {
    if (page_counts[split] == 0) continue;
    for (const volatile SplitPart& part : splits_of(pages.view, pages.team)[split].parts) {
      const u32 lanes = part.shift == kZeroPages ? 0 : pages.may_run(part);
      const u32 score = (u32)__popc(lanes) * page_counts[split];
      if (score > most) most = score, group = lanes;
    }
  }
  return group;
}

/// One block for each team. `groups`: keys of those that have a group, and their count; null: there are no groups.
__global__ void __launch_bounds__(kTeamBlock)
    describe_code_kernel(const __grid_constant__ View view, const u8* image, CodeKey* keys, u32* count, CodeKey* groups,
                         u32* group_count) {
  const u32 team = blockIdx.x;
  u32& state = view.code_state[team];
  if (!(*(volatile u32*)&state & (kCodeChanged | kCodeShared)) || lanes_of_table(view, team) == 0) return;
  __shared__ CodeKey key, group_key;
  __shared__ u32 split_pages[kSplits], group;
  const u32 warp = threadIdx.x / 32, thread = threadIdx.x % 32, warps = blockDim.x / 32;
  const u32 program = view.team_program[team], now = (u32)tick_now();
  const CodeSpan code = view.program_code[program];
  if (threadIdx.x == 0) {
    key = group_key = {team, program, 0xFFFFFFFFu, 0, 0};
    group = 0;
    atomicAnd(&state, ~(u32)kCodeSlotsUsed);
    view.team_code[team].begin &= ~kHasGroup;
  }
  for (u32 i = threadIdx.x; i < kSplits; i += blockDim.x) split_pages[i] = 0;
  const TeamPages pages{view, image, team};
  // The pages where the lanes stand are the next that they run from.
  if (warp == 0 && (pages.lanes() >> thread & 1)) {
    const u64 lane = lane_at(team_of_table(view, team), thread);
    const u64 page = (view.state[kPlanePc * view.lanes + lane] - view.window_begin) >> kPageBits;
    const bool runs_here = page < view.guest_pages && guest_table(view, lane) == team;
    if (runs_here && !is_program_code(view, team, page)) code_slot(view, team, page) = (u32)page + 1;
  }
  __syncthreads();

  auto add = [&](u64 page) {
    PageHistory& history = history_of(view, team, page);
    const bool left_out = __any_sync(kAll, must_wait(history, (u32)page, now));
    if (thread == 0) page_is_described(history, (u32)page, now, left_out);
    // No span reaches as far: its words are decoded as they run.
    if (page >= (code.begin >> kPageBits) + view.span_pages) return;
    u64 hash = 0;
    const bool alike = !left_out && pages.is_alike(page, thread, hash);
    if (thread != 0) return;
    // A store to the page must be noticed from now on; one to a shared page is.
    const u32 entry = pages.entry(page);
    if (!left_out && (entry & (kPageExecutable | kPageShared)) == kPageExecutable && !is_common(view, entry))
      *memory_of(view, team, 0).entry_place(page) = entry | kPageCode;
    if (!alike) hash = ~page;
    if (!alike && !is_program_code(view, team, page)) return;
    atomicAdd((unsigned long long*)&key.hash, (unsigned long long)mixed(hash, page));
    if (!alike) return;
    atomicMin(&key.low, (u32)page);
    atomicMax(&key.high, (u32)page);
  };
  const u64 first = code.begin >> kPageBits, program_pages = code.bytes >> kPageBits;
  // Each warp takes every sixteenth page, since pages that differ often lie side by side.
  for (u64 begin = warp; begin < program_pages; begin += warps * 32) {
    const u64 mine = begin + thread * warps;
    const bool is_code = mine < program_pages && is_program_code(view, team, first + mine);
    const bool differs =
        is_code && (is_flat(view) || pages.entry(first + mine) != base_entry(view, team, first + mine));
    for (u32 todo = __ballot_sync(kAll, differs); todo != 0; todo &= todo - 1) {
      const u64 page = first + begin + (__ffs(todo) - 1) * warps;
      if (!pages.is_unchanged(page, thread)) add(page);
      __syncwarp();
    }
  }
  // All that the team may execute of files, whether it has or not: so teams with the same files have the same key, however far
  // they are.
  const u64 behind = (code.begin >> kPageBits) + view.span_pages;
  const auto visit_files = [&](auto visit) {
    for (u64 slices = is_flat(view) ? 0 : *(volatile u64*)&view.touched[team]; slices != 0; slices &= slices - 1) {
      const u32 slice = (u32)__ffsll((long long)slices) - 1;
      const u64 end = smaller(smaller(view.slices.end(slice), view.guest_pages), behind);
      for (u64 page = view.slices.first(slice) + threadIdx.x; page < end; page += blockDim.x) {
        if (page >= first) visit(page);
      }
    }
  };
  const auto add_file = [](CodeKey& to, u64 page, u32 unit) {
    atomicAdd((unsigned long long*)&to.hash, (unsigned long long)mixed(mixed(unit, kPageShared), page));
    atomicMin(&to.low, (u32)page);
    atomicMax(&to.high, (u32)page);
  };
  visit_files([&](u64 page) {
    const u32 entry = pages.entry(page), unit = pages.unit_of_file(page);
    if (unit != 0) add_file(key, page, unit);
    if (is_split(entry)) atomicAdd(&split_pages[entry >> kPageFlagBits], 1u);
  });
  __syncthreads();  // a page of the program and one of the table may have one history
  if (threadIdx.x == 0 && groups != nullptr) view.wanted_groups[team] = group = choose_group(pages, split_pages);
  __syncthreads();
  if (group != 0) {
    const TeamPages of_group{view, image, team, group};
    visit_files([&](u64 page) {
      const u32 unit = is_split(pages.entry(page)) ? of_group.unit_of_file(page) : 0;
      if (unit != 0) add_file(group_key, page, unit);
    });
  }
  for (u32 begin = warp; begin < kCodeSlots; begin += warps * 32) {
    const u32 index = team * kCodeSlots + begin + thread * warps;
    const bool exists = begin + thread * warps < kCodeSlots;
    const u32 slot = exists ? view.code_slots[index] : 0;
    if (slot != 0 && view.page_history[index].slot != slot) view.page_history[index] = {slot, now, now, 0, 0};
    __syncwarp();
    const bool mine = slot != 0 && !is_program_code(view, team, slot - 1) && pages.unit_of_file(slot - 1) == 0;
    if (mine) atomicOr(&state, kCodeSlotsUsed);
    for (u32 todo = __ballot_sync(kAll, mine); todo != 0; todo &= todo - 1) {
      add(__shfl_sync(kAll, slot, __ffs(todo) - 1) - 1);
      __syncwarp();
    }
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  atomicAnd(&state, ~(u32)(kCodeChanged | kCodeReported | kCodeShared));
  keys[atomicAdd(count, 1)] = key;
  if (group == 0) return;
  group_key.hash = max(group_key.hash + key.hash, (u64)1);  // 0 would be the program's code
  group_key.low = min(group_key.low, key.low);
  group_key.high = max(group_key.high, key.high);
  groups[atomicAdd(group_count, 1)] = group_key;
}

/// The code of a team, or of its group.
__device__ TeamPages pages_of(const View& view, const u8* image, u32 team, CodeOf of) {
  return {view, image, team, of == CodeOf::groups ? view.wanted_groups[team] : 0};
}

/// One thread for each page of a span.
__global__ void find_code_kernel(const __grid_constant__ View view, const u32* teams, u64 pages, CodeOf of,
                                 u32* found) {
  const u64 index = (u64)blockIdx.x * blockDim.x + threadIdx.x, page = (view.code_begin >> kPageBits) + index;
  const u32 team = teams[blockIdx.y];
  const bool exists = index < pages && page < view.guest_pages;
  const bool may_need = exists && (is_program_code(view, team, page) || code_slot(view, team, page) == (u32)page + 1 ||
                                   pages_of(view, nullptr, team, of).unit_of_file(page) != 0);
  if (may_need) atomicOr(&found[blockIdx.y * ((pages + 31) / 32) + index / 32], 1u << index % 32);
}

/// One block for each listed page of each span, and at least one.
__global__ void predecode_teams_kernel(const __grid_constant__ View view, const u8* image, const NewCode* spans,
                                       CodeOf of) {
  const NewCode code = spans[blockIdx.y];
  if (blockIdx.x == 0 && threadIdx.x == 0) begin_span(code.span);
  if (blockIdx.x >= code.count) return;
  const u64 index = code.pages[blockIdx.x], page = (code.span.begin >> kPageBits) + index;
  const u32 team = code.number, thread = threadIdx.x % 32;
  const TeamPages pages = pages_of(view, image, team, of);
  __shared__ CodeSource source;
  if (threadIdx.x < 32) {
    u64 hash;
    const bool program = pages.is_unchanged(page, thread);
    const u32 unit = program ? 0 : pages.unit_of_file(page);
    const bool own = unit != 0 || (!program && pages.is_candidate(page) && pages.is_alike(page, thread, hash));
    if (thread == 0) source = program ? kProgramCode : own ? kOwnCode : kNoCode;
    if (thread == 0) unit_of_page(code.span, code.span.bytes >> kPageBits, index) = unit;
  }
  __syncthreads();
  const CodeSpan of_program = view.program_code[view.team_program[team]];
  const Operands* from = words_of_page(of_program, page - (of_program.begin >> kPageBits));
  for (u32 i = threadIdx.x; i < kPageWords; i += blockDim.x) {
    words_of_page(code.span, index)[i] = source == kProgramCode ? from[i]
                                         : source == kOwnCode   ? pages.word(page, i)
                                                                : not_predecoded_word();
  }
  if (threadIdx.x == 0) source_of_page(code.span, index) = source;
}

/// Whether every predecoded page of a span has the words that the team's page has now. A whole block calls it.
__device__ bool fits(const TeamPages& pages, const CodeSpan& span) {
  const u32 warp = threadIdx.x / 32, thread = threadIdx.x % 32, warps = blockDim.x / 32;
  const u64 first = span.begin >> kPageBits, count = span.bytes >> kPageBits;
  const u64 all = *(const volatile u64*)&span.words->imm / kPageWords;  // the team may use fewer
  bool good = true;
  for (u64 begin = warp; begin < count && __all_sync(kAll, good); begin += warps * 32) {
    const u64 mine = begin + thread * warps;
    const u8 source = mine < count ? page_sources(span)[mine] : (u8)kNoCode;
    if (source == kProgramCode && !is_flat(pages.view)) good &= pages.is_unchanged(first + mine, thread);
    const u32 unit = source == kOwnCode ? unit_of_page(span, all, mine) : 0;
    if (unit != 0) good &= pages.unit_of_file(first + mine) == unit;
    const bool whole_warp = (source == kOwnCode && unit == 0) || (source == kProgramCode && is_flat(pages.view));
    for (u32 todo = __ballot_sync(kAll, whole_warp); todo != 0; todo &= todo - 1) {
      const u64 index = begin + (__ffs(todo) - 1) * warps, page = first + index;
      if (page_sources(span)[index] == kProgramCode) {
        good &= pages.is_unchanged(page, thread);
        continue;
      }
      u64 hash;
      if (!pages.is_alike(page, thread, hash)) {
        good = false;
        continue;
      }
      for (u32 i = thread; i < kPageWords; i += 32)
        good &= same_word(words_of_page(span, index)[i], pages.word(page, i));
    }
  }
  return __syncthreads_and(good) != 0;
}

/// From now on a store to a page of the span must be noticed. A whole block calls it.
__device__ void watch_pages(const TeamPages& pages, const CodeSpan& span) {
  const u64 first = span.begin >> kPageBits, count = span.bytes >> kPageBits;
  for (u64 index = threadIdx.x; index < count; index += blockDim.x) {
    if (page_sources(span)[index] == kNoCode) continue;
    const u32 now = pages.entry(first + index);
    if (!(now & (kPageCode | kPageShared)))
      *memory_of(pages.view, pages.team, 0).entry_place(first + index) = now | kPageCode;
  }
}

/// One block for each team of the list.
__global__ void __launch_bounds__(kTeamBlock)
    assign_code_kernel(const __grid_constant__ View view, const u8* image, const TeamCode* teams, CodeOf of) {
  const TeamCode code = teams[blockIdx.x];
  const TeamPages pages = pages_of(view, image, code.team, of);
  const bool good = view.team_program[code.team] == code.program && fits(pages, code.span);
  if (good) watch_pages(pages, code.span);
  if (threadIdx.x != 0) return;
  if (of == CodeOf::groups) {
    if (!good) return;
    view.group_code[code.team] = {code.span.words, view.wanted_groups[code.team], code.span.bytes};
    view.team_code[code.team].begin |= kHasGroup;
    return;
  }
  CodeSpan span = code.span;
  if (!good) {
    span = view.program_code[view.team_program[code.team]];
    span.bytes = 0;
  }
  view.team_code[code.team] = span;
}

/// One block for each team.
__global__ void __launch_bounds__(kTeamBlock) check_code_kernel(const __grid_constant__ View view, const u8* image) {
  const u32 team = blockIdx.x;
  const TeamPages pages{view, image, team};
  const CodeSpan span = view.team_code[team];
  const bool good = fits(pages, span);
  if (good) watch_pages(pages, span);
  if (good || threadIdx.x != 0) return;
  view.team_code[team].bytes = 0;
  atomicOr(&view.code_state[team], kCodeChanged);
}

/// One thread for each team.
__global__ void drop_code_kernel(const __grid_constant__ View view) {
  const u32 team = blockIdx.x * blockDim.x + threadIdx.x;
  if (team >= view.table_count) return;
  CodeSpan span = view.program_code[view.team_program[team]];
  CodeSpan& own = view.team_code[team];
  const bool has_group = (own.begin & kHasGroup) != 0;
  own.begin &= ~kHasGroup;
  if (has_group) view.code_state[team] |= kCodeChanged;
  if (own.words == span.words) return;
  span.bytes = 0;
  own = span;
  view.code_state[team] |= kCodeChanged;
}

}  // namespace

void launch_predecode_programs(const View& view, const u8* image, const NewCode* spans, u32 count, u64 pages,
                               cudaStream_t stream) {
  const dim3 grid((u32)(pages == 0 ? 1 : pages), count);
  start(predecode_programs_kernel, grid, kBlock, stream, view, image, spans);
}
void launch_describe_code(const View& view, CodeKey* keys, const u8* image, u32* count, CodeKey* groups,
                          u32* group_count, cudaStream_t stream) {
  start(describe_code_kernel, view.table_count, kTeamBlock, stream, view, image, keys, count, groups, group_count);
}
void launch_predecode_teams(const View& view, const u8* image, const NewCode* spans, u32 count, u64 pages, CodeOf of,
                            cudaStream_t stream) {
  start(predecode_teams_kernel, dim3((u32)(pages == 0 ? 1 : pages), count), kBlock, stream, view, image, spans, of);
}
void launch_find_code(const View& view, const u32* teams, u32 count, u64 pages, CodeOf of, u32* found,
                      cudaStream_t stream) {
  const dim3 grid((u32)((pages + kBlock - 1) / kBlock), count);
  start(find_code_kernel, grid, kBlock, stream, view, teams, pages, of, found);
}
void launch_assign_code(const View& view, const u8* image, const TeamCode* teams, u32 count, CodeOf of,
                        cudaStream_t stream) {
  start(assign_code_kernel, count, kTeamBlock, stream, view, image, teams, of);
}
void launch_drop_code(const View& view, cudaStream_t stream) {
  start(drop_code_kernel, (view.table_count + kBlock - 1) / kBlock, kBlock, stream, view);
}
void launch_check_code(const View& view, const u8* image, cudaStream_t stream) {
  start(check_code_kernel, view.teams, kTeamBlock, stream, view, image);
}

}  // namespace myriarm::cuda
