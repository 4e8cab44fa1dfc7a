// SPDX-License-Identifier: Apache-2.0
// Standard input has no size that could be asked for, and a vector that grows holds its bytes twice. So they are read
// into blocks, and each block is freed when it has been copied.
#include "standard_input.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <string>

#include "myriarm/error.h"

namespace myriarm::cli {
namespace {

constexpr size_t kBlockBytes = size_t{1} << 20;
constexpr uint64_t kMostBytes = uint64_t{1} << 32;  // as for a file

/// Fills a block, unless the input ends before.
std::vector<uint8_t> read_block() {
  std::vector<uint8_t> block(kBlockBytes);
  size_t have = 0;
  while (have < block.size()) {
    const ssize_t n = ::read(STDIN_FILENO, block.data() + have, block.size() - have);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      throw ArgumentError(std::string("--stdin: standard input cannot be read (") + std::strerror(errno) +
                          "); give it a file or a pipe");
    }
    if (n == 0) break;
    have += static_cast<size_t>(n);
  }
  block.resize(have);
  return block;
}

}  // namespace

std::vector<uint8_t> read_standard_input() {
  std::deque<std::vector<uint8_t>> blocks;
  uint64_t size = 0;
  do {
    blocks.push_back(read_block());
    size += blocks.back().size();
    if (size > kMostBytes) throw ArgumentError("--stdin: standard input is larger than 4 GiB; give less");
  } while (blocks.back().size() == kBlockBytes);
  std::vector<uint8_t> all;
  all.reserve(size);
  for (; !blocks.empty(); blocks.pop_front()) all.insert(all.end(), blocks.front().begin(), blocks.front().end());
  return all;
}

}  // namespace myriarm::cli
