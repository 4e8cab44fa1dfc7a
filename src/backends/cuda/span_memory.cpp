// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/span_memory.h"

#include <numeric>
#include <utility>

#include "backends/cuda/code_span_units.h"

namespace myriarm::cuda {
namespace {

constexpr const char* kAllocating = "allocating predecoded code";

u64 all_bytes(u64 pages) { return span_length_with_units(pages) * sizeof(Operands); }
/// With the units, which lie behind them.
u64 bytes_of_sources(u64 pages) { return all_bytes(pages) - (1 + pages * kPageWords) * sizeof(Operands); }

/// The pieces that need memory: of pages with code, of the word in front, and of the sources and units behind all pages.
std::vector<bool> own_pieces(u64 pages, std::span<const u32> code, u64 piece) {
  std::vector<bool> own = pieces_of(code, kPageWords * sizeof(Operands), sizeof(Operands), piece);
  const u64 bytes = all_bytes(pages);
  own.resize((bytes + piece - 1) / piece);
  own[0] = true;
  for (u64 at = (bytes - bytes_of_sources(pages)) / piece; at < own.size(); at++) own[at] = true;
  return own;
}

}  // namespace

LazyBackground code_background() {
  const Operands word = not_predecoded_word();
  return LazyBackground(std::span(reinterpret_cast<const u8*>(&word), sizeof word));
}

u64 span_bytes(u64 pages, std::span<const u32> code, u64 piece) {
  if (all_bytes(pages) <= LongArray::kShort) return all_bytes(pages);
  u64 bytes = 0;
  for (const bool own : own_pieces(pages, code, piece)) bytes += own ? piece : 0;
  return bytes;
}

SpanMemory::SpanMemory(u64 pages, std::vector<u32> code, int device, LazyBackground& background, cudaStream_t stream)
    : memory_(all_bytes(pages), own_pieces(pages, code, mapped_piece(device)), device, background, kAllocating, stream),
      fill_(std::move(code)) {
  if (memory_.is_short()) {
    fill_.resize(pages);
    std::iota(fill_.begin(), fill_.end(), 0u);
  }
  check(cudaMemsetAsync(const_cast<u8*>(sources_behind(words(), pages * kPageWords)), kNoCode, bytes_of_sources(pages),
                        stream),
        kAllocating);
}

}  // namespace myriarm::cuda
