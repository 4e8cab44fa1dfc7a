// SPDX-License-Identifier: Apache-2.0
// Between a kernel::Machine of the host's processor and the ProcessHost: what the host sees of a call, and how it gets
// output.
#pragma once

#include <cstring>

#include "kernel/guest_memory.h"
#include "kernel/serve.h"
#include "kernel/threads.h"
#include "myriarm/process.h"

namespace myriarm {

static_assert(static_cast<u8>(kernel::PutKind::taken) == static_cast<u8>(PutOut::Kind::taken) &&
              static_cast<u8>(kernel::PutKind::refused) == static_cast<u8>(PutOut::Kind::refused) &&
              static_cast<u8>(kernel::PutKind::closed) == static_cast<u8>(PutOut::Kind::closed) &&
              static_cast<u8>(kernel::PutKind::interrupted) == static_cast<u8>(PutOut::Kind::interrupted));

/// The call that a machine is about to make, or has made.
template <class M>
class MachineCall final : public HostedCall {
 public:
  MachineCall(const M& machine, u32 of_lane, u64 at) : machine_(machine) {
    lane = of_lane;
    number = machine.number();
    input = machine.input().number;
    for (u32 i = 0; i < 6; i++) arguments[i] = machine.argument(i);
    pc = at;
  }
  size_t read(uint64_t address, std::span<uint8_t> bytes) override {
    const u64 size = kernel::accessible(machine_, address, bytes.size(), kPageReadable);
    kernel::copy_out(machine_, bytes.data(), address, size);
    return size;
  }

 private:
  const M& machine_;
};

/// kernel::Machine::tell_of_signal() of a machine of the host's processor.
inline void tell_host_of_signal(ProcessHost& host, u32 lane, const u64* information, bool ends) {
  const GivenInput given = host.input(lane);
  if (!given.traced) return;
  HostedSignal signal;
  signal.lane = lane;
  signal.input = given.number;
  std::memcpy(signal.information, information, sizeof signal.information);
  signal.ends = ends;
  host.signalled(signal);
}

/// Tells the host what became of a traced call: nothing of one that is made again, at once or when its thread has waited. A thread
/// that leaves, by itself or with its process, has no result, as the lane that ends has none.
template <class M>
void tell_host_of_result(const M& machine, ProcessHost& host, MachineCall<M>& call, const kernel::Result& result) {
  using kernel::Served;
  const bool waits = result.served == Served::waits, again = result.served == Served::again;
  const bool leaves = (waits && kernel::wait_state(machine) == kernel::WaitState::leaves) ||
                      (again && !kernel::goes_back_to_svc(machine));
  if ((waits || again) && !leaves) return;
  host.after(call, leaves || result.served == Served::ended ? nullptr : &result.value);
}

/// kernel::Machine::put_out() of a machine whose pages lie in the host's memory, page by page.
template <class M>
kernel::Put put_to_host(const M& machine, ProcessHost& host, u32 lane, u32 stream, u64 position, u64 address,
                        u64 size) {
  for (u64 done = 0; done < size;) {
    const u64 at = address + done;
    const u32 offset = kernel::offset_in_page(at);
    const u64 part = kernel::lesser(size - done, kPageSize - offset);
    const std::span<const u8> bytes(machine.locate(machine.entry(machine.page_of(at)), offset), part);
    const PutOut put = host.put_out(lane, stream, position + done, bytes);
    done += put.size;
    if (put.kind != PutOut::Kind::taken) return {static_cast<kernel::PutKind>(put.kind), done};
  }
  return {kernel::PutKind::taken, size};
}

}  // namespace myriarm
