// SPDX-License-Identifier: Apache-2.0
// Large arrays that the host's kernel maps: they are zero at first, and a page takes memory only once it is written to.
#pragma once

#include "core/portable.h"

namespace myriarm::cpu {

class LazyArray {
 public:
  LazyArray() = default;
  /// Throws DeviceError with `what` in its message if the host refuses the addresses.
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
/// Copies guest pages, without writing zeros to target pages that are zero already.
void copy_pages(u8* to, const u8* from, u64 bytes);

}  // namespace myriarm::cpu
