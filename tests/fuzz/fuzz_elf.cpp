// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: the ELF loader and, for images that it accepts, the process layout. Besides "no crash" it checks
// that only ArgumentError is thrown, with one sentence; that no allocation is larger than the file; and that accepted
// images keep the contracts of ElfImage and ProcessLayout.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "linux/process_layout.h"

namespace {

using namespace myriarm;

void require(bool holds) {
  if (!holds) std::abort();
}

void check_message(const std::string& message) {
  require(message.rfind("fuzz: ", 0) == 0 && message.size() < 300 && message.find('\n') == std::string::npos);
}

void check_image(const ElfImage& image, size_t file_size) {
  uint64_t end = 0, bytes = 0;
  bool entry_found = false;
  for (const Segment& s : image.program.segments) {
    require(s.size > 0 && s.bytes.size() <= s.size && s.permissions != 0);
    require(s.address >= end && s.address + s.size > s.address);
    end = s.address + s.size;
    bytes += s.bytes.size();
    entry_found |= image.program.entry - s.address < s.size && (s.permissions & kExecute);
  }
  require(entry_found && bytes <= file_size && image.break_start >= end && image.break_start % kPageBytes == 0);
}

void check_layout(const ElfImage& image, uint64_t memory, const LinuxOptions& options) {
  linux_process::ProcessLayout layout;
  try {
    layout = linux_process::lay_out_process(image, memory, options);
  } catch (const ArgumentError& error) {
    check_message(error.what());
    return;
  }
  const Segment& stack = layout.program.segments.back();
  uint64_t sp = layout.program.stack_pointer;
  require(sp % 16 == 0 && sp >= stack.address && sp < layout.window_end);
  require(stack.address + stack.size == layout.window_end && stack.bytes.size() == stack.size);
  require(layout.lane_bytes > sp && layout.lane_bytes + sizeof(linux_process::LaneBytes) <= layout.window_end);
  require(layout.break_start <= layout.heap_limit && layout.heap_limit < stack.address);
  require(image.program.segments.front().address / kPageBytes * kPageBytes + memory == layout.window_end);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ElfImage image;
  try {
    image = parse_elf({data, size}, "fuzz");
  } catch (const ArgumentError& error) {
    check_message(error.what());
    return 0;
  }
  check_image(image, size);
  size_t code = 0;
  for (const ElfSection& section : elf_names({data, size}, image.bias).code) code += section.bytes.size();
  require(code <= size);
  LinuxOptions options;
  options.arguments = {"fuzz", "argument"};
  for (uint64_t memory : {uint64_t{4096}, uint64_t{1} << 20, uint64_t{64} << 20}) check_layout(image, memory, options);
  return 0;
}
