// SPDX-License-Identifier: Apache-2.0
#include "linux/initial_stack.h"

#include <algorithm>
#include <cstring>

#include "kernel/initial_stack.h"
#include "myriarm/isa.h"
#include "support/text.h"

namespace myriarm::linux_process {

LaneBytes lane_bytes(uint64_t seed, uint64_t number) {
  LaneBytes bytes = {};
  kernel::start_bytes(seed, number, bytes.data());
  return bytes;
}

InitialStack initial_stack(const StackFacts& facts, std::span<const std::string> arguments,
                           std::span<const std::string> environment) {
  std::vector<std::string_view> variables;
  for (const std::string& text : environment) {
    if (!text.starts_with(kernel::kLaneVariable)) variables.push_back(text);
  }
  const std::string& file_name = arguments.empty() ? facts.program : arguments[0];
  kernel::StackTexts texts = {arguments.size(), 0, variables.size(), 0, file_name.size() + 1, true};
  for (const std::string& text : arguments) texts.argument_bytes += text.size() + 1;
  for (const std::string_view text : variables) texts.variable_bytes += text.size() + 1;
  const kernel::StackPlaces places = kernel::place_stack(facts.end, texts);
  if (facts.end - places.pointer > facts.size / 4) {
    throw ArgumentError(facts.program + ": its arguments and environment need more than " + size_text(facts.size / 4) +
                        " of stack; pass less or use a larger memory");
  }

  InitialStack result;
  result.stack_pointer = places.pointer;
  result.lane_bytes = places.lane_digits;
  result.bytes.resize(facts.end - places.pointer);
  const auto put_text = [&](std::string_view text, uint64_t to) {
    std::copy(text.begin(), text.end(), result.bytes.begin() + static_cast<ptrdiff_t>(to - places.pointer));
    return uint64_t{text.size() + 1};
  };
  const uint64_t pointer_at = kernel::stack_pointer_place(facts.end) - places.pointer;
  std::memcpy(&result.bytes[pointer_at], &places.pointer, sizeof places.pointer);
  put_text(kernel::kPlatform, places.platform);
  put_text(file_name, places.name);
  put_text(kernel::kLaneVariable, places.lane_variable);
  const kernel::AuxiliaryFacts known = {facts.program_headers,  facts.program_header_count,
                                        facts.interpreter_base, facts.entry,
                                        places.random,          places.name,
                                        places.platform};
  size_t at = 0;
  kernel::put_stack(
      texts, places, known, hardware_capabilities().hwcap, hardware_capabilities().hwcap2,
      [&](uint64_t word) {
        std::memcpy(&result.bytes[at], &word, sizeof word);
        at += sizeof word;
      },
      [&](uint64_t i, uint64_t to) { return put_text(arguments[i], to); },
      [&](uint64_t i, uint64_t to) { return put_text(variables[i], to); });
  return result;
}

}  // namespace myriarm::linux_process
