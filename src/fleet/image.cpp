// SPDX-License-Identifier: Apache-2.0
#include "fleet/image.h"

#include <algorithm>
#include <cstring>

#include "fleet/process_image.h"
#include "fleet/program_state.h"
#include "support/align.h"
#include "support/text.h"

namespace myriarm {
namespace {

std::string name_of(const Program& program) { return program.name.empty() ? "program" : program.name; }

/// The segments that are not empty, in rising order of address.
std::vector<const Segment*> segments_of(const Program& program) {
  const std::string who = name_of(program);
  std::vector<const Segment*> segments;
  for (const Segment& segment : program.segments) {
    if (segment.size != 0) segments.push_back(&segment);
  }
  if (segments.empty()) throw ArgumentError(who + ": the program has no bytes to load; give it a segment");
  std::sort(segments.begin(), segments.end(), [](auto* a, auto* b) { return a->address < b->address; });
  constexpr u64 kEnd = u64{1} << 55;  // TBI leaves 56 bits, and user space is the lower half of them
  for (size_t i = 0; i < segments.size(); i++) {
    const Segment& s = *segments[i];
    if (s.address >= kEnd || s.size > kEnd - s.address) {
      throw ArgumentError(who + ": the segment of " + std::to_string(s.size) + " bytes at " + hex(s.address) +
                          " reaches beyond the guest's addresses, which end at " + hex(kEnd) +
                          "; use a lower address or a smaller size");
    }
    if (s.bytes.size() > s.size)
      throw ArgumentError(who + ": the segment at " + hex(s.address) + " has " + std::to_string(s.bytes.size()) +
                          " bytes but a size of " + std::to_string(s.size) + "; make the size as large");
    if (i != 0 && segments[i - 1]->address + segments[i - 1]->size > s.address) {
      throw ArgumentError(who + ": the segments at " + hex(segments[i - 1]->address) + " and " + hex(s.address) +
                          " overlap; give them addresses apart");
    }
  }
  return segments;
}

/// Appends the pages of a segment. It must begin at or above the end of the segments added before.
void add_pages(std::vector<ImagePage>& pages, u64 window_begin, const Segment& s, u32 permissions) {
  u64 page = (s.address - window_begin) >> kPageBits;
  const u64 end = ((s.address + s.size - 1 - window_begin) >> kPageBits) + 1;
  if (!pages.empty()) {
    // A page that two segments share becomes a run of its own.
    ImagePage& last = pages.back();
    if (last.page + last.count > page && last.count > 1) {
      last.count--;
      pages.push_back({page, 1, last.permissions, {}});
    }
  }
  while (page < end) {
    const u64 begin = window_begin + (page << kPageBits);
    const u64 from = std::max(begin, s.address);
    const u64 to = std::min(begin + kPageSize, s.address + s.bytes.size());
    const bool shared = !pages.empty() && pages.back().page == page;
    if (!shared) pages.push_back({page, from < to ? 1 : end - page, 0, {}});
    ImagePage& target = pages.back();
    target.permissions |= permissions;
    if (from < to) {
      target.bytes.resize(kPageSize);
      std::memcpy(target.bytes.data() + (from - begin), s.bytes.data() + (from - s.address), to - from);
    }
    page += target.count;
  }
}

}  // namespace

Image make_image(std::span<const PlacedProgram> programs, u64 memory, bool read_only, const ProcessOptions& processes) {
  if (memory == 0 || memory % kPageSize != 0) {
    throw ArgumentError("memory of " + std::to_string(memory) +
                        " bytes is not possible; give a multiple of 4096 above 0");
  }
  if (memory > u64{1} << 40)
    throw ArgumentError("memory of " + std::to_string(memory) + " bytes is over 1 TiB; ask for less");
  std::vector<std::vector<const Segment*>> segments;
  Image image;
  image.window_begin = ~u64{0};
  image.window_pages = memory >> kPageBits;
  for (const PlacedProgram& placed : programs) {
    segments.push_back(segments_of(placed.program));
    image.window_begin = std::min(image.window_begin, align_down(segments.back().front()->address, kPageSize));
    if (placed.program.process && processes.host != nullptr) {
      image.window_begin = std::min(image.window_begin, align_down(placed.program.process->window_begin, kPageSize));
    }
    if (placed.program.state) image.window_begin = std::min(image.window_begin, placed.program.state->window_begin);
  }
  for (size_t i = 0; i < programs.size(); i++) {
    const Program& program = programs[i].program;
    const u64 end = segments[i].back()->address + segments[i].back()->size;
    if (end - image.window_begin > memory) {
      throw ArgumentError(name_of(program) + ": needs " + std::to_string((end - image.window_begin + 0xFFFFF) >> 20) +
                          " MiB from " + hex(image.window_begin) + " on, but memory is " +
                          std::to_string(memory >> 20) + " MiB; make memory larger");
    }
    ImageProgram& made = image.programs.emplace_back();
    made.entry = program.entry;
    made.stack_pointer = program.stack_pointer;
    made.lanes = programs[i].lanes;
    for (const Segment* s : segments[i]) {
      add_pages(made.pages, image.window_begin, *s, read_only ? s->permissions & ~u32{kWrite} : s->permissions);
    }
    if (processes.host != nullptr && program.process) add_process(image, made, program, processes);
  }
  return image;
}

}  // namespace myriarm
