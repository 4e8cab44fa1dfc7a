// SPDX-License-Identifier: Apache-2.0
#include "linux/process_layout.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "kernel/initial_stack.h"
#include "support/align.h"

namespace myriarm::linux_process {
namespace {

constexpr uint64_t kLargestStack = uint64_t{8} << 20;

/// mov x8, #139; svc #0: what the vDSO of Linux has for handlers of signals, and what unwinders know frames of signals by.
constexpr std::array<uint32_t, 2> kSignalReturn = {0xd2801168, 0xd4000001};

/// Where the code for handlers' return lies: behind other code of the program, in the same page, so that it takes no
/// memory and is predecoded with it; else in a page between the heap and the stack, which moves `heap_limit`; or nowhere: then
/// the address is 0.
Segment place_signal_return(const ElfImage& image, uint64_t& heap_limit) {
  std::vector<uint8_t> bytes(sizeof kSignalReturn);
  std::memcpy(bytes.data(), kSignalReturn.data(), bytes.size());
  constexpr uint64_t kRoom = 16;
  const auto& segments = image.program.segments;
  for (const Segment& code : segments) {
    const uint64_t place = align_up(code.address + code.size, kRoom);
    if (!(code.permissions & kExecute) || code.size == 0 || place % kPageBytes == 0) continue;
    const bool taken = std::any_of(segments.begin(), segments.end(), [&](const Segment& other) {
      return other.address < place + kRoom && place < other.address + other.size;
    });
    if (!taken && place + kRoom <= heap_limit) return {place, bytes.size(), code.permissions, bytes};
  }
  if (heap_limit - kPageBytes < image.break_start) return {};
  return {heap_limit -= kPageBytes, bytes.size(), kRead | kExecute, bytes};
}

constexpr uint64_t kMostFileBytes = uint64_t{64} << 30;

uint32_t working_folder_of(const LinuxOptions& options) {
  if (options.working_folder.empty()) return 0;
  constexpr uint32_t kTypes = 0170000, kFolder = 0040000;
  const int64_t found = options.root->find(0, options.working_folder, kFollowLast, "");
  if (found < 0 || (options.root->facts(static_cast<uint32_t>(found)).mode & kTypes) != kFolder) {
    throw ArgumentError("working_folder: " + options.working_folder +
                        " is no folder of the root; give the path of one");
  }
  return static_cast<uint32_t>(found);
}

std::string kibibytes(uint64_t bytes) { return std::to_string((bytes + 1023) / 1024) + " KiB"; }

}  // namespace

uint64_t window_begin_of(const ElfImage& image) {
  uint64_t begin = ~uint64_t{0};
  for (const Segment& s : image.program.segments) begin = std::min(begin, align_down(s.address, kPageBytes));
  return begin;
}

void widen_window(uint64_t& window_begin, uint64_t& memory) {
  constexpr uint64_t kLowestAddress = 0x10000, kSmall = uint64_t{64} << 20;
  if (memory < kSmall || window_begin <= kLowestAddress || window_begin > uint64_t{1} << 32) return;
  memory += window_begin - kLowestAddress;
  window_begin = kLowestAddress;
}

ProcessLayout lay_out_process(const ElfImage& image, uint64_t memory, const LinuxOptions& options) {
  return lay_out_process(image, window_begin_of(image), memory, options);
}

ProcessLayout lay_out_process(const ElfImage& image, uint64_t window_begin, uint64_t memory,
                              const LinuxOptions& options) {
  const std::string& name = image.program.name;
  if (memory == 0 || memory % kPageBytes != 0) {
    throw ArgumentError(name + ": a guest memory of " + std::to_string(memory) +
                        " bytes is not possible; use a multiple of 4 KiB above zero");
  }
  if (image.program.segments.empty() || memory > ~window_begin) {
    throw ArgumentError(name + ": a guest memory of " + kibibytes(memory) +
                        " reaches beyond the 64-bit address space; use a smaller one");
  }
  if (options.file_bytes > kMostFileBytes) {
    throw ArgumentError("file_bytes: a lane can keep 64 GiB of files at most; give a smaller number");
  }
  ProcessLayout layout;
  layout.window_end = window_begin + memory;
  uint64_t stack_size = std::max(kPageBytes, align_down(std::min(kLargestStack, memory / 8), kPageBytes));
  const uint64_t gap = kernel::stack_gap(stack_size);
  uint64_t needed = image.break_start - window_begin + gap + stack_size;
  if (image.break_start < window_begin || needed > memory || needed < stack_size) {
    throw ArgumentError(name + ": the program takes " + kibibytes(image.break_start - window_begin) +
                        " and does not fit with its stack in a guest memory of " + kibibytes(memory) +
                        "; use a larger memory");
  }
  uint64_t stack_begin = layout.window_end - stack_size;
  layout.break_start = image.break_start;
  layout.heap_limit = stack_begin - gap;
  Segment signal_return = place_signal_return(image, layout.heap_limit);

  layout.stack = {name,
                  layout.window_end,
                  stack_size,
                  image.program_entry != 0 ? image.program_entry : image.program.entry,
                  image.program_headers,
                  image.program_header_count,
                  image.interpreter_base};
  layout.program = image.program;
  layout.program.stack_pointer = layout.window_end;
  // The guest is not told where on the host the file is: that file is in its root by its name alone.
  layout.program.process = {layout.break_start, layout.heap_limit, stack_size,
                            image.path.empty() ? "/" + name.substr(name.rfind('/') + 1) : image.path,
                            signal_return.address};
  layout.program.process->window_begin = window_begin;
  if (options.root) {
    layout.program.process->file_bytes = options.file_bytes;
    layout.program.process->working_folder = working_folder_of(options);
  }
  if (signal_return.address != 0) layout.program.segments.push_back(std::move(signal_return));
  const uint32_t permissions = kRead | kWrite | (image.executable_stack ? kExecute : 0u);
  Segment filled = {layout.window_end, 0, permissions, {}};
  if (options.lane_arguments.empty() && options.lane_environments.empty()) {
    InitialStack stack = initial_stack(layout.stack, options.arguments, options.environment);
    layout.program.stack_pointer = stack.stack_pointer;
    layout.lane_bytes = stack.lane_bytes;
    filled.address = align_down(stack.stack_pointer, kPageBytes);
    filled.size = layout.window_end - filled.address;
    filled.bytes.resize(stack.stack_pointer - filled.address);
    filled.bytes.insert(filled.bytes.end(), stack.bytes.begin(), stack.bytes.end());
  }
  if (filled.address > stack_begin) {
    layout.program.segments.push_back({stack_begin, filled.address - stack_begin, permissions, {}});
  }
  if (filled.size != 0) layout.program.segments.push_back(std::move(filled));
  return layout;
}

}  // namespace myriarm::linux_process
