// SPDX-License-Identifier: Apache-2.0
// Large arrays straight from the host's kernel: zero at first, and a page costs nothing until it is touched.
#pragma once

#include "core/portable.h"

namespace myriarm::cpu {

class LazyArray {
 public:
  LazyArray() = default;
  /// Throws DeviceError with `what` in its sentence if the host refuses the addresses.
  explicit LazyArray(u64 bytes, const char* what = "the lanes; ask for fewer lanes or less memory");
  ~LazyArray();
  LazyArray(LazyArray&& other) noexcept;
  LazyArray& operator=(LazyArray&& other) noexcept;
  u8* data() const { return data_; }
  u64 bytes() const { return bytes_; }

 private:
  u8* data_ = nullptr;
  u64 bytes_ = 0;
};

/// Makes whole host pages zero again and gives them back to the host.
void clear_pages(u8* at, u64 bytes);
/// Copies guest pages without touching target pages that are zero and stay zero.
void copy_pages(u8* to, const u8* from, u64 bytes);

}  // namespace myriarm::cpu
