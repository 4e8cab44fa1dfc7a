// SPDX-License-Identifier: Apache-2.0
// Puts stencils one behind the other and fills in what they leave open. Places in the code that are not known yet are
// labels.
#pragma once

#include <vector>

#include "backends/cpu/translated/code_memory.h"
#include "backends/cpu/translated/stencil_table.h"

namespace myriarm::cpu {

/// What the holes of a stencil are filled with: of Hole::slow, taken, leave, operands and has_fma with labels. The writer
/// itself knows Hole::next.
struct HoleValues {
  u64 of[kHoles] = {};
  u64& operator[](Hole hole) { return of[static_cast<u32>(hole)]; }
  u64 operator[](Hole hole) const { return of[static_cast<u32>(hole)]; }
};

class CodeWriter {
 public:
  using Label = u32;
  /// A place that bind() names later.
  Label new_label() {
    labels_.push_back(kUnbound);
    return static_cast<Label>(labels_.size() - 1);
  }
  /// The label is here.
  void bind(Label label) { labels_[label] = code_.size(); }
  /// Hole::next is behind the stencil.
  void add(const Stencil& stencil, const HoleValues& values);
  void jump(Label to);
  /// Data; aligned to 16 bytes.
  void add_data(std::span<const u8> bytes);
  u64 size() const { return code_.size(); }
  /// How far a label is from the beginning of the code.
  u64 offset(Label label) const { return labels_[label]; }
  /// The code as it is at `base`. All labels must be bound. Throws std::runtime_error if a value does not fit.
  std::span<const u8> finish(u64 base);

 private:
  static constexpr u64 kUnbound = ~u64{0};
  struct Fixup {
    u64 at;
    Label label;
    u8 bytes;
    bool is_relative;
    i64 addend;
  };
  static bool is_label(Hole hole);
  void put(u64 at, u64 value, u32 bytes);

  std::vector<u8> code_;
  std::vector<u64> labels_;
  std::vector<Fixup> fixups_;
};

}  // namespace myriarm::cpu
