// SPDX-License-Identifier: Apache-2.0
// The memory of a long span of predecoded code: pages with code have memory of their own, wherever in the window they lie, and all
// that has none shows one background. docs/design/sparse-spans.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "backends/cuda/span_memory.h"

namespace myriarm::cuda {
namespace {

constexpr u64 kPageBytes = kPageWords * sizeof(Operands);

TEST(CudaPieces, ThoseThatAPageReachesNeedMemory) {
  constexpr u64 kPiece = 1024;
  using Pieces = std::vector<bool>;
  EXPECT_EQ(pieces_of({}, 256, 0, kPiece), Pieces());
  const u32 first[] = {0};
  EXPECT_EQ(pieces_of(first, 256, 0, kPiece), Pieces({true}));
  // What lies in front moves the fourth page over a border, and the ninth one to where the third piece begins.
  const u32 some[] = {3, 8};
  EXPECT_EQ(pieces_of(some, 256, 0, kPiece), Pieces({true, false, true}));
  EXPECT_EQ(pieces_of(some, 256, 16, kPiece), Pieces({true, true, true}));
  const u32 far[] = {4, 19};
  EXPECT_EQ(pieces_of(far, 256, 0, kPiece), Pieces({false, true, false, false, true}));
  const u32 large[] = {1};  // a page of several pieces
  EXPECT_EQ(pieces_of(large, 3 * kPiece, 0, kPiece), Pieces({false, false, false, true, true, true}));
}

/// A span as long as the window of 1 GiB needs, with code in several far pieces. It lies on the first GPU.
class CudaSpans : public testing::Test {
 protected:
  static constexpr u64 kPages = u64{1} << 18;

  void SetUp() override {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) GTEST_SKIP() << "there is no GPU";
    ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
    piece_ = mapped_piece(0);
    of_piece_ = static_cast<u32>(piece_ / kPageBytes);
    // The first pages, both sides of a border, a page within a piece, and places that are a multiple of 16 pieces apart: so
    // many pieces of background are one allocation, so that what has no memory of its own shows the same there.
    code_ = {0,
             1,
             5 * of_piece_ + 7,
             100 * of_piece_ - 1,
             100 * of_piece_,
             500 * of_piece_ + 3,
             516 * of_piece_ + 3,
             1012 * of_piece_ + 3,
             static_cast<u32>(kPages - 2 * of_piece_)};
    ASSERT_TRUE(std::ranges::is_sorted(code_));
  }
  void TearDown() override {
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }

  Operands* page(const SpanMemory& span, u64 number) const { return span.words() + 1 + number * kPageWords; }
  std::vector<Operands> read(const SpanMemory& span, u64 number) const {
    std::vector<Operands> words(kPageWords);
    check(cudaMemcpyAsync(words.data(), page(span, number), kPageBytes, cudaMemcpyDeviceToHost, stream_), "reading");
    check(cudaStreamSynchronize(stream_), "reading");
    return words;
  }
  void write(const SpanMemory& span, u64 number, const std::vector<Operands>& words) const {
    check(cudaMemcpyAsync(page(span, number), words.data(), kPageBytes, cudaMemcpyHostToDevice, stream_), "writing");
    check(cudaStreamSynchronize(stream_), "writing");
  }
  /// Words as no other page has them.
  static std::vector<Operands> words_of(u64 number) {
    std::vector<Operands> words(kPageWords);
    for (u32 i = 0; i < kPageWords; i++) words[i].imm = static_cast<decltype(words[i].imm)>(number * kPageWords + i);
    return words;
  }
  static bool equal(const std::vector<Operands>& a, const std::vector<Operands>& b) {
    return std::memcmp(a.data(), b.data(), kPageBytes) == 0;
  }

  cudaStream_t stream_ = nullptr;
  u64 piece_ = 0;
  u32 of_piece_ = 0;  // pages
  std::vector<u32> code_;
};

TEST_F(CudaSpans, EachPageWithCodeHasMemoryOfItsOwn) {
  LazyBackground background = code_background();
  const SpanMemory span(kPages, code_, 0, background, stream_);
  ASSERT_GT(kPages * kPageBytes, LongArray::kShort);
  EXPECT_EQ(span.pages_to_fill(), code_);
  const std::vector<Operands> nothing(kPageWords, not_predecoded_word());
  for (const u32 number : code_) EXPECT_TRUE(equal(read(span, number), nothing)) << "before it is filled: " << number;
  for (const u32 number : code_) write(span, number, words_of(number));
  for (const u32 number : code_) EXPECT_TRUE(equal(read(span, number), words_of(number))) << number;
  // What was written shows nowhere else: one page of each piece without code, at the places where pages with code have theirs.
  for (u64 piece = 0; piece < kPages / of_piece_; piece++) {
    for (const u32 place : {u32{0}, u32{1}, u32{3}, u32{7}, of_piece_ - 1}) {
      const u64 number = piece * of_piece_ + place;
      if (std::ranges::binary_search(code_, number)) continue;
      ASSERT_TRUE(equal(read(span, number), nothing)) << number;
    }
  }
}

TEST_F(CudaSpans, PagesWithoutCodeTakeNoMemory) {
  LazyBackground background = code_background();
  background.get(0, stream_);
  size_t before = 0, after = 0, total = 0;
  ASSERT_EQ(cudaMemGetInfo(&before, &total), cudaSuccess);
  const SpanMemory span(kPages, code_, 0, background, stream_);
  ASSERT_EQ(cudaMemGetInfo(&after, &total), cudaSuccess);
  // At least a piece for each far page; two more for those behind a border, and one at the end, for the sources of pages.
  EXPECT_EQ(span.bytes(), span_bytes(kPages, code_, piece_));
  EXPECT_GE(span.bytes(), 7 * piece_);
  EXPECT_LE(span.bytes(), 12 * piece_);
  EXPECT_LE(before - std::min(before, after), 16 * piece_) << "what the device says";
  // All else is one piece, or the same piece of a chain of 16. (Nobody but this test writes there.)
  const auto number_in = [&](u64 piece) { return piece * of_piece_ + 9; };
  write(span, number_in(200), words_of(1));
  u64 same = 0;
  for (u64 piece = 101; piece < 500; piece++) same += equal(read(span, number_in(piece)), words_of(1));
  EXPECT_GE(same, 399 / 16);
}

TEST_F(CudaSpans, AShortOneIsFilledWhole) {
  LazyBackground background = code_background();
  constexpr u64 kFew = 100;
  const u32 code[] = {3, 40};
  const SpanMemory span(kFew, {code, code + 2}, 0, background, stream_);
  std::vector<u32> all(kFew);
  std::iota(all.begin(), all.end(), 0u);
  EXPECT_EQ(span.pages_to_fill(), all);
  for (u64 number = 0; number < kFew; number++) write(span, number, words_of(number));
  for (u64 number = 0; number < kFew; number++) EXPECT_TRUE(equal(read(span, number), words_of(number))) << number;
}

}  // namespace
}  // namespace myriarm::cuda
