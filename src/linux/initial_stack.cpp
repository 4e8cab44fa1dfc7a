// SPDX-License-Identifier: Apache-2.0
#include "linux/initial_stack.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

#include "myriarm/isa.h"
#include "support/text.h"

namespace myriarm::linux_process {
namespace {

constexpr char kLaneVariable[] = "MYRIARM_LANE=";
constexpr uint64_t kClockTicks = 100;

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

LaneBytes lane_bytes(uint64_t seed, uint64_t number) {
  LaneBytes bytes = {};
  kernel::start_bytes(seed, number, bytes.data());
  return bytes;
}

InitialStack initial_stack(const StackFacts& facts, std::span<const std::string> arguments,
                           std::span<const std::string> environment) {
  InitialStack result;
  StackWriter stack(facts.end, facts.size / 4);
  stack.zeros(16);
  uint64_t random = stack.push(std::array<uint8_t, kRandomBytes>{}.data(), kRandomBytes);
  result.lane_bytes = stack.push(std::array<uint8_t, kLaneDigitBytes>{}.data(), kLaneDigitBytes);
  uint64_t lane_variable = stack.push(kLaneVariable, sizeof kLaneVariable - 1);
  uint64_t file_name = stack.push_string(arguments.empty() ? facts.program : arguments[0]);

  auto push_strings = [&](std::span<const std::string> strings, auto&& wanted) {
    std::vector<uint64_t> addresses(strings.size());
    for (size_t i = strings.size(); i-- > 0;) addresses[i] = wanted(strings[i]) ? stack.push_string(strings[i]) : 0;
    std::erase(addresses, 0);
    return addresses;
  };
  std::vector<uint64_t> variables =
      push_strings(environment, [](const std::string& text) { return !is_lane_variable(text); });
  variables.push_back(lane_variable);
  std::vector<uint64_t> words = push_strings(arguments, [](const std::string&) { return true; });
  uint64_t platform = stack.push_string("aarch64");
  stack.align_down(16);

  const std::vector<uint64_t> auxiliary = {
      AT_HWCAP,    hardware_capabilities().hwcap,
      AT_PAGESZ,   kPageBytes,
      AT_CLKTCK,   kClockTicks,
      AT_PHDR,     facts.program_headers,
      AT_PHENT,    sizeof(Elf64_Phdr),
      AT_PHNUM,    facts.program_header_count,
      AT_BASE,     facts.interpreter_base,
      AT_FLAGS,    0,
      AT_ENTRY,    facts.entry,
      AT_UID,      kernel::kUserId,
      AT_EUID,     kernel::kUserId,
      AT_GID,      kernel::kUserId,
      AT_EGID,     kernel::kUserId,
      AT_SECURE,   0,
      AT_RANDOM,   random,
      AT_HWCAP2,   hardware_capabilities().hwcap2,
      AT_EXECFN,   file_name,
      AT_PLATFORM, platform,
      AT_NULL,     0,
  };
  const uint64_t count = 1 + words.size() + 1 + variables.size() + 1 + auxiliary.size();
  if (count % 2 != 0) stack.zeros(8);
  stack.push_words(auxiliary);
  variables.push_back(0);
  stack.push_words(variables);
  const uint64_t argument_count = words.size();
  words.push_back(0);
  stack.push_words(words);
  stack.push_words({argument_count});
  if (stack.full()) {
    throw ArgumentError(facts.program + ": its arguments and environment need more than " + size_text(facts.size / 4) +
                        " of stack; pass less or use a larger memory");
  }

  result.stack_pointer = stack.pointer();
  result.bytes = stack.take();
  return result;
}

}  // namespace myriarm::linux_process
