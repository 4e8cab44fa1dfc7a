// SPDX-License-Identifier: Apache-2.0
// read, readv, pread64, write and writev. Standard input is what the options give all lanes or each; standard output
// and error are kept for each lane or passed to the host.
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include "linux/syscall_server.h"

namespace myriarm::linux_process {
namespace {

// One call moves at most this many bytes on Linux (MAX_RW_COUNT), from or to at most 1024 buffers (UIO_MAXIOV).
constexpr uint64_t kMostBytes = 0x7ffff000;
constexpr uint32_t kMostBuffers = 1024;
constexpr uint32_t kBufferRecord = 16;  // struct iovec: base and length
// A guest may write gigabytes in one call. The host copies at most this much of it at a time.
constexpr uint64_t kPieceBytes = uint64_t{4} << 20;
constexpr uint64_t kBrokenPipe = 13;  // SIGPIPE of Linux

uint64_t word_at(std::span<const uint8_t> bytes, size_t offset) {
  uint64_t value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

}  // namespace

std::vector<SyscallServer::Piece> SyscallServer::single_pieces(Calls calls) const {
  std::vector<Piece> pieces;
  for (Call* call : calls) pieces.push_back({call, call->arguments[1], std::min(call->arguments[2], kMostBytes)});
  return pieces;
}

std::vector<SyscallServer::Piece> SyscallServer::vector_pieces(Calls calls) {
  std::vector<Piece> pieces;
  std::vector<Transfer> transfers;
  std::vector<Call*> owners;
  for (Call* call : calls) {
    uint64_t count = call->arguments[2];
    uint64_t size = count * kBufferRecord;
    if (count > kMostBuffers) {
      call->result = -EINVAL;
    } else if (accessible(call->lane, call->arguments[1], size, kRead) != size) {
      call->result = -EFAULT;
    } else if (count != 0) {
      transfers.push_back({call->lane, static_cast<uint32_t>(size), call->arguments[1], 0});
      owners.push_back(call);
    }
  }
  fetch(transfers, [&](size_t index, std::span<const uint8_t> records) {
    size_t first = pieces.size();
    uint64_t room = kMostBytes;
    for (size_t at = 0; at < records.size(); at += kBufferRecord) {
      uint64_t length = word_at(records, at + 8);
      if (static_cast<int64_t>(length) < 0) {
        owners[index]->result = -EINVAL;
        pieces.resize(first, Piece{});
        return;
      }
      length = std::min(length, room);
      room -= length;
      pieces.push_back({owners[index], word_at(records, at), length});
    }
  });
  return pieces;
}

void SyscallServer::put_out(std::span<const Piece> pieces) {
  std::vector<Transfer> transfers;
  std::vector<Call*> owners;
  for (size_t i = 0; i < pieces.size();) {
    Call* call = pieces[i].call;
    const size_t first = i;
    while (i < pieces.size() && pieces[i].call == call) i++;
    const auto own = pieces.subspan(first, i - first);
    if (pass_output_ && call->lane == 0) {
      call->result = pass_on(*call, own);
      continue;
    }
    const uint64_t kept = lanes_[call->lane].output[stream_of(*call, call->arguments[0]) - 1].size();
    uint64_t space = output_share_ - std::min(output_share_, kept);
    uint64_t moved = 0;
    int64_t error = 0;
    for (const Piece& piece : own) {
      if (error || piece.size == 0) continue;
      uint64_t size = accessible(call->lane, piece.address, piece.size, kRead);
      if (size < piece.size) error = -EFAULT;
      if (size > space) {
        size = space;
        error = -ENOSPC;
      }
      space -= size;
      moved += size;
      for (uint64_t at = 0; at < size; at += kPieceBytes) {
        const auto part = static_cast<uint32_t>(std::min(kPieceBytes, size - at));
        transfers.push_back({call->lane, part, piece.address + at, 0});
        owners.push_back(call);
      }
    }
    call->result = moved ? static_cast<int64_t>(moved) : error;
  }
  fetch(transfers, [&](size_t index, std::span<const uint8_t> bytes) {
    Call& call = *owners[index];
    if (call.result < 0) return;
    const int stream = stream_of(call, call.arguments[0]);
    if (!lanes_[call.lane].output[stream - 1].append(bytes)) call.result = -ENOSPC;
  });
}

int64_t SyscallServer::pass_on(Call& call, std::span<const Piece> pieces) {
  const int stream = stream_of(call, call.arguments[0]);
  int64_t moved = 0;
  for (const Piece& piece : pieces) {
    const uint64_t size = accessible(call.lane, piece.address, piece.size, kRead);
    for (uint64_t at = 0; at < size;) {
      const uint64_t part = std::min(kPieceBytes, size - at);
      int error = 0;
      const size_t written = write_to_host(stream, fleet_.read(call.lane, piece.address + at, part), error);
      moved += static_cast<int64_t>(written);
      at += written;
      if (written == part) continue;
      call.taken_back = error == 0 && moved == 0;
      if (error != EPIPE) return moved ? moved : -error;
      raise(call, kBrokenPipe);
      return moved ? moved : -EPIPE;
    }
    if (size < piece.size) return moved ? moved : -EFAULT;
  }
  return moved;
}

size_t SyscallServer::write_to_host(int stream, std::span<const uint8_t> bytes, int& error) const {
  // If a pipe, a terminal or a socket can take anything, it can take this much without blocking. A write that blocked
  // could not be given up.
  struct stat status = {};
  const bool file = ::fstat(stream, &status) == 0 && S_ISREG(status.st_mode);
  const size_t most = file ? bytes.size() : PIPE_BUF;
  constexpr int kMilliseconds = 50;  // between two looks at cancelled_
  size_t written = 0;
  while (written < bytes.size() && !cancelled_.load(std::memory_order_relaxed)) {
    pollfd ready = {stream, POLLOUT, 0};
    const int count = file ? 1 : ::poll(&ready, 1, kMilliseconds);
    if (count == 0 || (count < 0 && errno == EINTR)) continue;
    const ssize_t n = ::write(stream, bytes.data() + written, std::min(most, bytes.size() - written));
    if (n >= 0) {
      written += static_cast<size_t>(n);
    } else if (errno != EAGAIN && errno != EINTR) {
      error = errno;
      break;
    }
  }
  return written;
}

std::span<const uint8_t> SyscallServer::standard_input(uint32_t lane) const {
  const OwnInput* own = lanes_[lane].input.get();
  if (own && own->standard_input) return *own->standard_input;
  return inputs_.empty() ? std::span(input_) : inputs_[lane];
}

bool SyscallServer::has_input_file(uint32_t lane) const {
  const OwnInput* own = lanes_[lane].input.get();
  return (own && own->file) || !files_.empty();
}

std::span<const uint8_t> SyscallServer::input_file(uint32_t lane) const {
  const OwnInput* own = lanes_[lane].input.get();
  return own && own->file ? std::span<const uint8_t>(*own->file) : files_[lane];
}

uint64_t SyscallServer::take_piece(const Piece& piece, std::span<const uint8_t> source, uint64_t position, bool& bad) {
  const uint64_t wanted = std::min(piece.size, source.size() - std::min<uint64_t>(position, source.size()));
  if (bad || wanted == 0) return 0;
  const uint64_t size = accessible(piece.call->lane, piece.address, wanted, kWrite);
  bad = size < wanted;
  for (uint64_t at = 0; at < size; at += kPieceBytes) {
    const uint64_t part = std::min(kPieceBytes, size - at);
    queue_store(piece.call->lane, piece.address + at, source.subspan(position + at, part));
  }
  return size;
}

void SyscallServer::take_in(std::span<const Piece> pieces) {
  for (size_t i = 0; i < pieces.size();) {
    Call* call = pieces[i].call;
    Lane& lane = lanes_[call->lane];
    const int stream = stream_of(*call, call->arguments[0]);
    const bool file = stream >= kFirstOpening;
    const std::span<const uint8_t> source = file ? input_file(call->lane) : standard_input(call->lane);
    uint64_t& position = file ? lane.openings[stream - kFirstOpening] : lane.input_position;
    uint64_t moved = 0;
    bool bad = false;
    for (; i < pieces.size() && pieces[i].call == call; i++) {
      const uint64_t size = take_piece(pieces[i], source, position, bad);
      position += size;
      moved += size;
    }
    call->result = moved || !bad ? static_cast<int64_t>(moved) : -EFAULT;
  }
}

namespace {

bool is_input(int stream) { return stream == 0 || stream > 2; }
bool is_output(int stream) { return stream == 1 || stream == 2; }

}  // namespace

std::vector<SyscallServer::Call*> SyscallServer::with_stream(Calls calls, bool (*good)(int)) const {
  std::vector<Call*> kept;
  for (Call* call : calls) {
    if (good(stream_of(*call, call->arguments[0]))) kept.push_back(call);
    else call->result = -EBADF;
  }
  return kept;
}

void SyscallServer::write(Calls calls) { put_out(single_pieces(with_stream(calls, is_output))); }
void SyscallServer::writev(Calls calls) { put_out(vector_pieces(with_stream(calls, is_output))); }
void SyscallServer::read(Calls calls) { take_in(single_pieces(with_stream(calls, is_input))); }
void SyscallServer::pread64(Calls calls) {
  gather_more_arguments(calls);
  for (const Piece& piece : single_pieces(with_stream(calls, [](int stream) { return stream >= 0; }))) {
    Call& call = *piece.call;
    const int stream = stream_of(call, call.arguments[0]);
    const uint64_t position = call.arguments[3];
    bool bad = false;
    if (static_cast<int64_t>(position) < 0) call.result = -EINVAL;
    else if (stream < kFirstOpening) call.result = -ESPIPE;
    else {
      const uint64_t moved = take_piece(piece, input_file(call.lane), position, bad);
      call.result = moved || !bad ? static_cast<int64_t>(moved) : -EFAULT;
    }
  }
}
void SyscallServer::readv(Calls calls) { take_in(vector_pieces(with_stream(calls, is_input))); }

}  // namespace myriarm::linux_process
