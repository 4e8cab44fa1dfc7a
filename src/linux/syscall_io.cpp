// SPDX-License-Identifier: Apache-2.0
// read, readv, write and writev. Standard input is the file that the options give; standard output and error are kept
// for each lane or passed to the host.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "linux/syscall_server.h"

namespace myriarm::linux_process {
namespace {

// One call moves at most this many bytes on Linux (MAX_RW_COUNT), from or to at most 1024 buffers (UIO_MAXIOV).
constexpr uint64_t kMostBytes = 0x7ffff000;
constexpr uint32_t kMostBuffers = 1024;
constexpr uint32_t kBufferRecord = 16;  // struct iovec: base and length

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
    const Lane& lane = lanes_[call->lane];
    bool passes = pass_output_ && call->lane == 0;
    uint64_t kept = passes ? 0 : lane.output[stream_of(*call, call->arguments[0]) - 1].size();
    uint64_t space = passes ? kMostBytes : output_share_ - std::min(output_share_, kept);
    uint64_t moved = 0;
    int64_t error = 0;
    for (; i < pieces.size() && pieces[i].call == call; i++) {
      if (error || pieces[i].size == 0) continue;
      uint64_t size = accessible(call->lane, pieces[i].address, pieces[i].size, kRead);
      if (size < pieces[i].size) error = -EFAULT;
      if (size > space) {
        size = space;
        error = -ENOSPC;
      }
      space -= size;
      moved += size;
      if (size == 0) continue;
      transfers.push_back({call->lane, static_cast<uint32_t>(size), pieces[i].address, 0});
      owners.push_back(call);
    }
    call->result = moved ? static_cast<int64_t>(moved) : error;
  }
  fetch(transfers, [&](size_t index, std::span<const uint8_t> bytes) { emit(*owners[index], bytes); });
}

void SyscallServer::emit(Call& call, std::span<const uint8_t> bytes) {
  const int stream = stream_of(call, call.arguments[0]);
  if (!pass_output_ || call.lane != 0) {
    auto& kept = lanes_[call.lane].output[stream - 1];
    kept.insert(kept.end(), bytes.begin(), bytes.end());
    return;
  }
  while (!bytes.empty() && call.result >= 0) {
    ssize_t n = ::write(stream, bytes.data(), bytes.size());
    if (n >= 0) {
      bytes = bytes.subspan(static_cast<size_t>(n));
    } else if (errno == EAGAIN) {
      // The host's descriptor is non-blocking, but the guest expects it to block: wait until it is writable.
      pollfd ready = {stream, POLLOUT, 0};
      poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      call.result = -errno;
    }
  }
}

void SyscallServer::take_in(std::span<const Piece> pieces) {
  for (size_t i = 0; i < pieces.size();) {
    Call* call = pieces[i].call;
    Lane& lane = lanes_[call->lane];
    uint64_t moved = 0;
    bool bad = false;
    for (; i < pieces.size() && pieces[i].call == call; i++) {
      uint64_t wanted = std::min(pieces[i].size, input_.size() - lane.input_position);
      if (bad || wanted == 0) continue;
      uint64_t size = accessible(call->lane, pieces[i].address, wanted, kWrite);
      bad = size < wanted;
      queue_store(call->lane, pieces[i].address, std::span(input_).subspan(lane.input_position, size));
      lane.input_position += size;
      moved += size;
    }
    call->result = moved || !bad ? static_cast<int64_t>(moved) : -EFAULT;
  }
}

namespace {

bool is_input(int stream) { return stream == 0; }
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
void SyscallServer::readv(Calls calls) { take_in(vector_pieces(with_stream(calls, is_input))); }

}  // namespace myriarm::linux_process
