// SPDX-License-Identifier: Apache-2.0
#include "fleet/image.h"

#include <algorithm>
#include <cstring>

namespace myriarm {
namespace {

std::string hex(u64 value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

/// The pages of a segment that begins at or beyond the end of those before it.
void add_pages(const Image& image, ImageProgram& program, const Segment& s) {
  u64 page = (s.address - image.window_begin) >> kPageBits;
  const u64 end = ((s.address + s.size - 1 - image.window_begin) >> kPageBits) + 1;
  if (!program.pages.empty()) {
    // The page that two segments share stands alone.
    ImagePage& last = program.pages.back();
    if (last.page + last.count > page && last.count > 1) {
      last.count--;
      program.pages.push_back({page, 1, last.permissions, {}});
    }
  }
  while (page < end) {
    const u64 begin = image.window_begin + (page << kPageBits);
    const u64 from = std::max(begin, s.address);
    const u64 to = std::min(begin + kPageSize, s.address + s.bytes.size());
    const bool shared = !program.pages.empty() && program.pages.back().page == page;
    if (!shared) program.pages.push_back({page, from < to ? 1 : end - page, 0, {}});
    ImagePage& target = program.pages.back();
    target.permissions |= s.permissions;
    if (from < to) {
      target.bytes.resize(kPageSize);
      std::memcpy(target.bytes.data() + (from - begin), s.bytes.data() + (from - s.address), to - from);
    }
    page += target.count;
  }
}

}  // namespace

Image make_image(const Program& program, u64 memory, u64 lanes) {
  const std::string who = program.name.empty() ? "program" : program.name;
  if (memory == 0 || memory % kPageSize != 0) {
    throw ArgumentError("memory of " + std::to_string(memory) + " bytes is not a positive multiple of 4096");
  }
  if (memory > u64{1} << 40)
    throw ArgumentError("memory of " + std::to_string(memory) + " bytes is over 1 TiB; ask for less");
  std::vector<const Segment*> segments;
  for (const Segment& segment : program.segments) {
    if (segment.size != 0) segments.push_back(&segment);
  }
  if (segments.empty()) throw ArgumentError(who + ": nothing to load; give it a segment");
  std::sort(segments.begin(), segments.end(), [](auto* a, auto* b) { return a->address < b->address; });
  constexpr u64 kEnd = u64{1} << 55;  // TBI leaves 56 bits, and user space is the lower half of them
  for (size_t i = 0; i < segments.size(); i++) {
    const Segment& s = *segments[i];
    if (s.address >= kEnd || s.size > kEnd - s.address) {
      throw ArgumentError(who + ": the segment at " + hex(s.address) + " wraps around the address space");
    }
    if (s.bytes.size() > s.size)
      throw ArgumentError(who + ": the segment at " + hex(s.address) + " has more bytes than its size");
    if (i != 0 && segments[i - 1]->address + segments[i - 1]->size > s.address) {
      throw ArgumentError(who + ": the segments at " + hex(segments[i - 1]->address) + " and " + hex(s.address) +
                          " overlap");
    }
  }
  Image image;
  image.window_begin = segments.front()->address & ~u64{kPageSize - 1};
  image.window_pages = memory >> kPageBits;
  u64 end = segments.back()->address + segments.back()->size;
  if (end - image.window_begin > memory) {
    throw ArgumentError(who + ": needs " + std::to_string((end - image.window_begin + 0xFFFFF) >> 20) + " MiB from " +
                        hex(image.window_begin) + " on, but memory is " + std::to_string(memory >> 20) +
                        " MiB; ask for more memory");
  }
  image.programs.push_back({{}, program.entry, program.stack_pointer, lanes});
  for (const Segment* s : segments) add_pages(image, image.programs.back(), *s);
  return image;
}

}  // namespace myriarm
