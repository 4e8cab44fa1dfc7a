// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/translated/code_writer.h"

#include <cstring>
#include <stdexcept>

namespace myriarm::cpu {

bool CodeWriter::is_label(Hole hole) {
  return hole == Hole::next || hole == Hole::slow || hole == Hole::taken || hole == Hole::leave ||
         hole == Hole::operands || hole == Hole::has_fma;
}

void CodeWriter::put(u64 at, u64 value, u32 bytes) { std::memcpy(&code_[at], &value, bytes); }

void CodeWriter::add(const Stencil& stencil, const HoleValues& values) {
  const u64 begin = code_.size();
  code_.insert(code_.end(), stencil.code.begin(), stencil.code.end());
  const bool needs_next = stencil.depends_on(Hole::next);
  const Label next = needs_next ? new_label() : 0;
  for (const OpenPlace& place : stencil.open) {
    const u64 at = begin + place.at;
    if (is_label(place.hole)) {
      const Label label = place.hole == Hole::next ? next : static_cast<Label>(values[place.hole]);
      fixups_.push_back({at, label, place.bytes, place.is_relative, place.addend});
      continue;
    }
    const u64 value = values[place.hole] + static_cast<u64>(place.addend);
    // Compilers take symbols to lie in the first 2 GiB, and extend them either way.
    if (place.is_relative ||
        (place.bytes == 4 && value >> 31 != 0 && place.hole != Hole::low && place.hole != Hole::high)) {
      throw std::runtime_error("an operand does not fit its stencil");
    }
    put(at, value, place.bytes);
  }
  if (needs_next) bind(next);
}

void CodeWriter::jump(Label to) {
  code_.push_back(0xE9);
  fixups_.push_back({code_.size(), to, 4, true, -4});
  code_.resize(code_.size() + 4);
}

void CodeWriter::add_data(std::span<const u8> bytes) { code_.insert(code_.end(), bytes.begin(), bytes.end()); }

std::span<const u8> CodeWriter::finish(u64 base) {
  for (const Fixup& fixup : fixups_) {
    const u64 to = labels_[fixup.label];
    if (to == kUnbound) throw std::runtime_error("a place in copied code is missing");
    const u64 address = base + to + static_cast<u64>(fixup.addend);
    put(fixup.at, fixup.is_relative ? address - (base + fixup.at) : address, fixup.bytes);
  }
  return code_;
}

}  // namespace myriarm::cpu
