// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/program_pages.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

namespace myriarm::cpu {
namespace {

bool same_process(const ImageProgram& a, const ImageProgram& b) {
  if (!a.process || !b.process) return !a.process && !b.process;
  return *a.process == *b.process;
}

bool same_pages(const ImageProgram& a, const ImageProgram& b) {
  if (!same_process(a, b)) return false;
  return std::equal(
      a.pages.begin(), a.pages.end(), b.pages.begin(), b.pages.end(), [](const ImagePage& x, const ImagePage& y) {
        return x.page == y.page && x.count == y.count && x.permissions == y.permissions && x.bytes == y.bytes;
      });
}

u64 hash_of(const ImageProgram& program) {
  u64 hash = 0;
  auto mix = [&](u64 value) { hash = (hash ^ value) * 0x9E3779B97F4A7C15u, hash ^= hash >> 29; };
  for (const ImagePage& page : program.pages) {
    mix(page.page), mix(page.count), mix(page.permissions);
    for (size_t i = 0; i + 8 <= page.bytes.size(); i += 8) {
      u64 word;
      std::memcpy(&word, page.bytes.data() + i, 8);
      mix(word);
    }
  }
  return hash;
}

/// For each program, the first one that has the same pages.
std::vector<size_t> first_with_same_pages(const Image& image) {
  const auto& programs = image.programs;
  std::vector<size_t> first_same(programs.size());
  if (programs.size() == 1) return first_same;
  std::unordered_multimap<u64, size_t> seen;
  for (size_t i = 0; i < programs.size(); i++) {
    const u64 hash = hash_of(programs[i]);
    first_same[i] = i;
    auto [from, to] = seen.equal_range(hash);
    for (auto at = from; at != to; ++at) {
      if (same_pages(programs[at->second], programs[i])) first_same[i] = at->second;
    }
    if (first_same[i] == i) seen.emplace(hash, i);
  }
  return first_same;
}

std::unique_ptr<ProgramPages> make_program(const std::vector<ImagePage>& pages, u64 window_begin, FramePool& pool,
                                           u32& next_frame, bool flat) {
  auto program = std::make_unique<ProgramPages>();
  program->flat = flat;
  for (const ImagePage& page : pages) {
    u32 frame = FramePool::kZeroFrame;
    if (!page.bytes.empty()) {
      frame = next_frame++;
      std::memcpy(pool.at(frame), page.bytes.data(), kPageSize);
    }
    const u32 flags = page.permissions & (kPageReadable | kPageWritable | kPageExecutable);
    const u32 entry =
        flat ? FlatMemory::frame_of(page.page) << kPageFlagBits | flags : frame << kPageFlagBits | flags | kPageShared;
    program->runs.push_back({page.page, page.count, entry, frame});
  }
  // Code: each run of neighbouring executable pages with content. Its frames are neighbours too.
  auto is_code = [&](size_t k) { return (pages[k].permissions & kExecute) && !pages[k].bytes.empty(); };
  for (size_t i = 0; i < pages.size();) {
    if (!is_code(i)) {
      i++;
      continue;
    }
    size_t end = i + 1;
    while (end < pages.size() && is_code(end) && pages[end].page == pages[end - 1].page + 1) end++;
    program->code.add_root_pages((window_begin >> kPageBits) + pages[i].page, pool.at(program->runs[i].frame), end - i);
    // In flat memory only this flag sends a store to predecoded code to the slow path.
    for (; i < end; i++) {
      if (flat) program->runs[i].entry |= kPageCode;
    }
  }
  program->code.finish_root();
  return program;
}

void fill_run(u32* out, const ProgramPages::Run& run, u64 from, u64 to, bool flat) {
  const u32 step = flat ? 1u << kPageFlagBits : 0;
  for (u64 page = from; page < to; page++) {
    out[page - from] = run.entry + static_cast<u32>(page - run.page) * step;
  }
}

}  // namespace

u64 image_frames(const Image& image) {
  const std::vector<size_t> first_same = first_with_same_pages(image);
  u64 frames = 0;
  for (size_t i = 0; i < image.programs.size(); i++) {
    if (first_same[i] != i) continue;
    for (const ImagePage& page : image.programs[i].pages) frames += !page.bytes.empty();
  }
  return frames;
}

std::vector<std::unique_ptr<ProgramPages>> make_programs(const Image& image, FramePool& pool, bool flat,
                                                         std::vector<u32>& numbers) {
  const std::vector<size_t> first_same = first_with_same_pages(image);
  std::vector<std::unique_ptr<ProgramPages>> programs;
  u32 frame = FramePool::kFirstImageFrame;
  numbers.resize(image.programs.size());
  for (size_t i = 0; i < image.programs.size(); i++) {
    if (first_same[i] == i) {
      numbers[i] = static_cast<u32>(programs.size());
      programs.push_back(make_program(image.programs[i].pages, image.window_begin, pool, frame, flat));
      programs.back()->process = image.programs[i].process;
    } else {
      numbers[i] = numbers[first_same[i]];
    }
  }
  return programs;
}

void ProgramPages::fill(u32* out, u64 first, u64 end) const {
  u64 at = first;
  auto clear_to = [&](u64 page) {
    for (; at < page; at++) {
      if (out[at - first] != 0) out[at - first] = 0;
    }
  };
  auto run = std::upper_bound(runs.begin(), runs.end(), first, [](u64 page, const Run& r) { return page < r.page; });
  if (run != runs.begin()) --run;
  for (; run != runs.end() && run->page < end; ++run) {
    const u64 from = std::max(run->page, first), to = std::min(run->page + run->count, end);
    if (from >= to) continue;
    clear_to(from);
    fill_run(out + (from - first), *run, from, to, flat);
    at = to;
  }
  clear_to(end);
}

void ProgramPages::begin(u32* table, u64 end) const {
  for (const Run& run : runs) {
    if (run.page < end) fill_run(table + run.page, run, run.page, std::min(run.page + run.count, end), flat);
  }
}

void ProgramPages::end(u32* table) const {
  for (const Run& run : runs) std::fill_n(table + run.page, run.count, 0u);
}

void ProgramPages::copy_content(u8* window, const FramePool& pool) const {
  for (const Run& run : runs) {
    if (run.frame != FramePool::kZeroFrame)
      std::memcpy(window + (run.page << kPageBits), pool.at(run.frame), kPageSize);
  }
}

}  // namespace myriarm::cpu
