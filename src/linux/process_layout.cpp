// SPDX-License-Identifier: Apache-2.0
// Builds the initial stack of a process, as the kernel leaves it for _start: argc, argv, envp, auxv, then the strings.
#include "linux/process_layout.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

#include "linux/random_stream.h"
#include "myriarm/isa.h"
#include "support/align.h"

namespace myriarm::linux_process {
namespace {

constexpr uint64_t kLargestStack = uint64_t{8} << 20;
constexpr char kLaneVariable[] = "MYRIARM_LANE=";
constexpr uint64_t kClockTicks = 100;

std::string kibibytes(uint64_t bytes) { return std::to_string((bytes + 1023) / 1024) + " KiB"; }

/// Writes from the end of the stack downwards, as the kernel does.
class StackWriter {
 public:
  StackWriter(uint64_t end, uint64_t most) : end_(end), most_(most) {}

  uint64_t pointer() const { return end_ - bytes_.size(); }
  bool full() const { return bytes_.size() > most_; }
  void zeros(uint64_t count) {
    if (count > most_) count = most_ + 1;  // enough for full() to be true, without a larger allocation
    bytes_.insert(bytes_.end(), count, 0);
  }
  /// The bytes stay in reverse order until take().
  uint64_t push(const void* data, uint64_t size) {
    if (full() || size > most_) {
      zeros(most_ + 1);
      return 0;
    }
    auto first = static_cast<const uint8_t*>(data);
    bytes_.insert(bytes_.end(), std::reverse_iterator(first + size), std::reverse_iterator(first));
    return pointer();
  }
  uint64_t push_string(const std::string& text) { return push(text.c_str(), text.size() + 1); }
  uint64_t push_words(const std::vector<uint64_t>& words) { return push(words.data(), words.size() * 8); }
  void align_down(uint64_t unit) { zeros(pointer() % unit); }

  std::vector<uint8_t> take() {
    std::reverse(bytes_.begin(), bytes_.end());
    return std::move(bytes_);
  }

 private:
  uint64_t end_;
  uint64_t most_;
  std::vector<uint8_t> bytes_;
};

bool is_lane_variable(const std::string& text) { return text.rfind(kLaneVariable, 0) == 0; }

}  // namespace

LaneBytes lane_bytes(uint64_t seed, uint32_t lane) {
  LaneBytes bytes = {};
  std::string digits = std::to_string(lane);
  std::copy(digits.begin(), digits.end(), bytes.begin());
  random_bytes(seed, lane, 0, std::span(bytes).subspan(kLaneDigitBytes));
  return bytes;
}

ProcessLayout lay_out_process(const ElfImage& image, uint64_t memory, const LinuxOptions& options) {
  const std::string& name = image.program.name;
  if (memory == 0 || memory % kPageBytes != 0) {
    throw ArgumentError(name + ": a guest memory of " + std::to_string(memory) +
                        " bytes is not possible; use a multiple of 4 KiB above zero");
  }
  uint64_t window_begin = ~uint64_t{0};
  for (const Segment& s : image.program.segments) {
    window_begin = std::min(window_begin, align_down(s.address, kPageBytes));
  }
  if (image.program.segments.empty() || memory > ~window_begin) {
    throw ArgumentError(name + ": a guest memory of " + kibibytes(memory) +
                        " reaches beyond the 64-bit address space; use a smaller one");
  }
  ProcessLayout layout;
  layout.window_end = window_begin + memory;
  uint64_t stack_size = std::max(kPageBytes, align_down(std::min(kLargestStack, memory / 8), kPageBytes));
  uint64_t needed = image.break_start - window_begin + kPageBytes + stack_size;
  if (image.break_start < window_begin || needed > memory || needed < stack_size) {
    throw ArgumentError(name + ": the program takes " + kibibytes(image.break_start - window_begin) +
                        " and does not fit with its stack in a guest memory of " + kibibytes(memory) +
                        "; use a larger memory");
  }
  uint64_t stack_begin = layout.window_end - stack_size;
  layout.break_start = image.break_start;
  layout.heap_limit = stack_begin - kPageBytes;

  // As on Linux, arguments and environment may take a quarter of the stack.
  StackWriter stack(layout.window_end, stack_size / 4);
  stack.zeros(16);
  uint64_t random = stack.push(std::array<uint8_t, kRandomBytes>{}.data(), kRandomBytes);
  layout.lane_bytes = stack.push(std::array<uint8_t, kLaneDigitBytes>{}.data(), kLaneDigitBytes);
  uint64_t lane_variable = stack.push(kLaneVariable, sizeof kLaneVariable - 1);
  uint64_t file_name = stack.push_string(options.arguments.empty() ? name : options.arguments[0]);

  auto push_strings = [&](const std::vector<std::string>& strings, auto&& wanted) {
    std::vector<uint64_t> addresses(strings.size());
    for (size_t i = strings.size(); i-- > 0;) addresses[i] = wanted(strings[i]) ? stack.push_string(strings[i]) : 0;
    std::erase(addresses, 0);
    return addresses;
  };
  std::vector<uint64_t> environment =
      push_strings(options.environment, [](const std::string& text) { return !is_lane_variable(text); });
  environment.push_back(lane_variable);
  std::vector<uint64_t> arguments = push_strings(options.arguments, [](const std::string&) { return true; });
  uint64_t platform = stack.push_string("aarch64");
  stack.align_down(16);

  const std::vector<uint64_t> auxiliary = {
      AT_HWCAP,    hardware_capabilities().hwcap,
      AT_PAGESZ,   kPageBytes,
      AT_CLKTCK,   kClockTicks,
      AT_PHDR,     image.program_headers,
      AT_PHENT,    sizeof(Elf64_Phdr),
      AT_PHNUM,    image.program_header_count,
      AT_BASE,     0,
      AT_FLAGS,    0,
      AT_ENTRY,    image.program.entry,
      AT_UID,      kUserId,
      AT_EUID,     kUserId,
      AT_GID,      kUserId,
      AT_EGID,     kUserId,
      AT_SECURE,   0,
      AT_RANDOM,   random,
      AT_HWCAP2,   hardware_capabilities().hwcap2,
      AT_EXECFN,   file_name,
      AT_PLATFORM, platform,
      AT_NULL,     0,
  };
  uint64_t words = 1 + arguments.size() + 1 + environment.size() + 1 + auxiliary.size();
  if (words % 2 != 0) stack.zeros(8);
  stack.push_words(auxiliary);
  environment.push_back(0);
  stack.push_words(environment);
  uint64_t argument_count = arguments.size();
  arguments.push_back(0);
  stack.push_words(arguments);
  stack.push_words({argument_count});
  if (stack.full()) {
    throw ArgumentError(name + ": its arguments and environment need more than " + kibibytes(stack_size / 4) +
                        " of stack; pass less or use a larger memory");
  }

  layout.program = image.program;
  layout.program.stack_pointer = stack.pointer();
  uint32_t permissions = kRead | kWrite | (image.executable_stack ? kExecute : 0u);
  uint64_t filled = align_down(layout.program.stack_pointer, kPageBytes);
  if (filled > stack_begin) layout.program.segments.push_back({stack_begin, filled - stack_begin, permissions, {}});
  stack.zeros(layout.program.stack_pointer - filled);
  layout.program.segments.push_back({filled, layout.window_end - filled, permissions, stack.take()});
  return layout;
}

}  // namespace myriarm::linux_process
