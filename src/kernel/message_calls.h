// SPDX-License-Identifier: Apache-2.0
// Messages of sockets: sendmsg, recvmsg, and sendmmsg and recvmmsg, which move several. Of several the first alone waits: the call ends
// with those that could be moved at once.
#pragma once

#include "kernel/sockets.h"

namespace myriarm::kernel {

/// Words of struct msghdr.
enum HeaderWord : u32 {
  kHeaderName = 0,
  kHeaderNameSize = 8,
  kHeaderBuffers = 16,
  kHeaderCount = 24,
  kHeaderControl = 32,
  kHeaderControlSize = 40,
  kHeaderFlags = 48,
  kHeaderBytes = 56,
  // Of struct mmsghdr:
  kHeaderMoved = 56,
  kSeveralHeaderBytes = 64
};
/// A message of a call: the socket, where its header lies, and flags.
struct Message {
  Opened opened;
  u64 socket, header;
  u32 flags;
};
template <Machine M>
MYR_FN i64 find_message(const M& m, u64 header, Buffers& buffers) {
  if (!readable(m, header, kHeaderBytes)) return -(i64)kEFAULT;
  if (load<u64>(m, header + kHeaderCount) > kMostBuffers) return -(i64)kEMSGSIZE;
  return find_buffers(m, load<u64>(m, header + kHeaderBuffers), load<u64>(m, header + kHeaderCount), buffers);
}
template <Machine M>
MYR_OUTLINE Result send_message(M& m, const Message& message) {
  Buffers buffers;
  if (const i64 found = find_message(m, message.header, buffers); found < 0) return answer(found);
  const i64 named = check_name(m, message.socket, load<u64>(m, message.header + kHeaderName),
                               load<u32>(m, message.header + kHeaderNameSize));
  if (named < 0) return answer(named);
  // Descriptors and credentials cannot be sent.
  if (load<u64>(m, message.header + kHeaderControlSize) != 0) return missing();
  return write_socket(m, message.opened, buffers, message.flags);
}
template <Machine M>
MYR_OUTLINE Result receive_message(M& m, const Message& of) {
  Buffers buffers;
  const u64 header = of.header;
  if (const i64 found = find_message(m, header, buffers); found < 0) return answer(found);
  const Storing storing = prepare(m, header, kHeaderBytes);
  if (storing == Storing::again) return again();
  if ((of.flags & kUrgent) && word(m, of.socket + kSocketType) != kStream) return error(kEOPNOTSUPP);
  const u64 size = message_size(m, of.socket, of.opened);
  const Result result = read_socket(m, of.opened, buffers, of.flags);
  if (result.served != Served::answered || result.value < 0) return result;
  if (storing == Storing::refused) return error(kEFAULT);
  store<u32>(m, header + kHeaderNameSize, 0);
  store<u64>(m, header + kHeaderControlSize, 0);
  store<u32>(m, header + kHeaderFlags, (u64)result.value < size ? (u32)kTruncated : 0u);
  return (of.flags & kTruncated) && size != 0 ? answer((i64)size) : result;
}

template <Machine M>
MYR_OUTLINE Result sendmsg(M& m) {
  Opened opened;
  const i64 socket = find_socket(m, opened);
  if (socket < 0) return answer(socket);
  return send_message(m, {opened, (u64)socket, m.argument(1), (u32)m.argument(2)});
}
template <Machine M>
MYR_OUTLINE Result recvmsg(M& m) {
  Opened opened;
  const i64 socket = find_socket(m, opened);
  if (socket < 0) return answer(socket);
  return receive_message(m, {opened, (u64)socket, m.argument(1), (u32)m.argument(2)});
}

/// Moves messages of an array of struct mmsghdr, by move(message).
template <Machine M, class Move>
MYR_OUTLINE Result move_messages(M& m, Move move) {
  Opened opened;
  const i64 socket = find_socket(m, opened);
  if (socket < 0) return answer(socket);
  const u64 count = lesser((u32)m.argument(2), kMostBuffers);
  for (u64 i = 0; i < count; i++) {
    const u64 header = m.argument(1) + i * kSeveralHeaderBytes;
    const Storing storing = prepare(m, header + kHeaderMoved, 4);
    const u32 flags = (u32)m.argument(3) | (i != 0 ? (u32)kDoNotWait : 0u);
    const Result result =
        storing == Storing::allowed ? move(Message{opened, (u64)socket, header, flags}) : not_stored(storing);
    if (result.served != Served::answered || result.value < 0) return i != 0 ? answer((i64)i) : result;
    store<u32>(m, header + kHeaderMoved, (u32)result.value);
    // What the first one has moved in earlier attempts is its own alone; serve() has made the word own.
    if (i == 0 && is_made_again(m)) set_word(m, kWaitDone, 0);
  }
  return answer((i64)count);
}
template <Machine M>
MYR_OUTLINE Result sendmmsg(M& m) {
  return move_messages(m, [&](const Message& message) { return send_message(m, message); });
}
template <Machine M>
MYR_OUTLINE Result recvmmsg(M& m) {
  constexpr u32 kWaitForOne = 0x10000;
  if (m.argument(4) != 0) {
    if (const i64 time = duration(m, m.argument(4)); time < 0) return answer(time);
  }
  return move_messages(m, [&](Message message) {
    message.flags &= ~kWaitForOne;
    return receive_message(m, message);
  });
}

}  // namespace myriarm::kernel
