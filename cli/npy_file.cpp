// SPDX-License-Identifier: Apache-2.0
#include "npy_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <utility>

#include "queue_session.h"

namespace myriarm::cli {
namespace {

// Digests are written as they are, and NumPy's types name a byte order.
static_assert(std::endian::native == std::endian::little);
static_assert(offsetof(InputDigest, output_hash) == 40 && offsetof(InputDigest, stop_detail) == 64 &&
              offsetof(InputDigest, reason) == 68 && offsetof(InputDigest, fault) == 69);

/// The fields of InputDigest, by the names of myriarm.DIGEST in Python; the last one fills it up to 72 bytes.
constexpr char kFields[] =
    "[('number', '<u8'), ('instructions', '<u8'), ('pc', '<u8'), ('stdout_bytes', '<u8'), ('stderr_bytes', '<u8'), "
    "('stdout_hash', '<u8'), ('stderr_hash', '<u8'), ('stop_address', '<u8'), ('stop_detail', '<u4'), "
    "('stop', '|u1'), ('fault', '|u1'), ('', '|V2')]";

/// numpy.lib.format says what it consists of: a magic string, the version, the size of what follows, and a dictionary
/// of Python with blanks and a newline behind it.
std::string header(uint64_t count) {
  constexpr size_t kBefore = 10, kText = NpyFile::kHeaderBytes - kBefore;
  std::string text = fmt::format("{{'descr': {}, 'fortran_order': False, 'shape': ({},), }}", kFields, count);
  text.resize(kText - 1, ' ');
  text += '\n';
  std::string all("\x93NUMPY\x01\x00", 8);
  all += static_cast<char>(kText & 0xff);
  all += static_cast<char>(kText >> 8);
  return all + text;
}

/// The number in a header; nothing if no NpyFile has written it.
std::optional<uint64_t> count_in(const std::string& bytes) {
  const std::string before = "'shape': (";
  const size_t at = bytes.find(before);
  if (at == bytes.npos) return std::nullopt;
  uint64_t count = 0;
  std::from_chars(bytes.data() + at + before.size(), bytes.data() + bytes.size(), count);
  return bytes == header(count) ? std::optional(count) : std::nullopt;
}

bool is_whole(const InputDigest& digest) {
  const auto reason = static_cast<unsigned>(digest.reason);
  return reason != static_cast<unsigned>(StopReason::none) && reason < kStopReasons && digest.reserved == 0;
}

}  // namespace

void NpyFile::read(const std::string& label, const std::string& path,
                   const std::function<void(const InputDigest&)>& take) {
  std::ifstream file(path, std::ios::binary);
  std::string head(kHeaderBytes, 0);
  file.read(head.data(), kHeaderBytes);
  head.resize(static_cast<size_t>(file.gcount()));
  // A writer that was killed at its beginning leaves less than a header.
  if (head.size() < kHeaderBytes && header(0).starts_with(head)) return;
  const std::optional<uint64_t> count = count_in(head);
  InputDigest digest;
  for (uint64_t i = 0; count && file.read(reinterpret_cast<char*>(&digest), sizeof digest); i++) {
    if (is_whole(digest)) take(digest);
    else if (i >= *count) return;  // what a system that went down has left
    else break;
  }
  if (count && file.eof()) return;
  throw ArgumentError(label + " holds something else than digests; give the file of an earlier run to --resume");
}

NpyFile::NpyFile(std::string label, const std::string& path, uint64_t kept)
    : label_(std::move(label)),
      file_(open_results(label_, path, kept == 0 ? O_CREAT | O_TRUNC : O_CREAT)),
      written_(kept),
      written_before_(kept) {
  out_.emplace(file_.descriptor(), label_);
  const auto end = static_cast<off_t>(kHeaderBytes + kept * sizeof(InputDigest));
  if (kept != 0 && ::ftruncate(file_.descriptor(), end) != 0) fail();
  if (::lseek(file_.descriptor(), end, SEEK_SET) < 0) {
    throw ArgumentError(label_ + " is a pipe or a device, and the header of an array is written last; give a file");
  }
  if (!write_header()) fail();
}

void NpyFile::write(std::span<const InputDigest> digests) {
  out_->write({reinterpret_cast<const char*>(digests.data()), digests.size_bytes()});
  written_ += digests.size();
}

void NpyFile::flush() {
  // A failed write was told, and the header goes on to say what is there.
  if (written_ == written_before_ || out_->failed()) return;
  out_->flush();
  if (!write_header()) fail();
  written_before_ = written_;
}

void NpyFile::close() { close_results(label_, file_); }

bool NpyFile::write_header() const {
  const std::string bytes = header(written_);
  return ::pwrite(file_.descriptor(), bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size());
}

void NpyFile::fail() const {
  throw Error(fmt::format("{} could not be written completely ({}); give it to a file with room", label_,
                          std::strerror(errno)));
}

}  // namespace myriarm::cli
