// SPDX-License-Identifier: Apache-2.0
// The threads of a lane's processes, from its fields and the words of its kernel pages.
#include <algorithm>
#include <cstring>

#include "fleet/fleet_impl.h"
#include "kernel/threads.h"

namespace myriarm {
namespace {

/// Words of kernel pages that have been read.
class ReadWords {
 public:
  ReadWords(Backend& backend, u32 lane, u64 window_end, u64 first, u64 size) : first_(first), bytes_(size) {
    const Transfer words = {lane, static_cast<u32>(size), window_end + first, 0};
    backend.read({&words, 1}, bytes_, {});
  }
  u64 operator[](u64 offset) const {
    u64 value;
    std::memcpy(&value, &bytes_[offset - first_], sizeof value);
    return value;
  }

 private:
  u64 first_;
  std::vector<u8> bytes_;
};

/// The thread whose registers are the lane's.
GuestThread running_thread(Backend& backend, u32 lane) {
  const auto field = [&](Field of) {
    u64 value = 0;
    backend.gather(of, {&lane, 1}, {&value, 1});
    return value;
  };
  GuestThread thread;
  thread.is_running = true;
  for (u32 n = 0; n < thread.x.size(); n++) thread.x[n] = field(x(n));
  thread.sp = field(Field::sp);
  thread.pc = field(Field::pc);
  thread.nzcv = field(Field::nzcv);
  thread.tpidr = field(Field::tpidr);
  thread.fpcr = field(Field::fpcr);
  thread.fpsr = field(Field::fpsr);
  for (u32 n = 0; n < thread.v.size(); n++) thread.v[n] = {field(v_low(n)), field(v_high(n))};
  return thread;
}

GuestThread kept_thread(const ReadWords& words, u32 slot) {
  using namespace kernel;
  const auto record = [&](u32 part) { return words[thread_record(slot, part)]; };
  GuestThread thread;
  for (u32 n = 0; n < thread.x.size(); n++) thread.x[n] = record(n * 8);
  thread.sp = record(kSlotSP * 8);
  thread.pc = record(kRecordPc);
  thread.nzcv = record(kRecordNzcv);
  thread.tpidr = record(kRecordTpidr);
  thread.fpcr = record(kRecordFpcr);
  thread.fpsr = record(kRecordFpsr);
  for (u32 n = 0; n < thread.v.size(); n++) {
    thread.v[n] = {record(kRecordVectors + n * 16), record(kRecordVectors + n * 16 + 8)};
  }
  return thread;
}

}  // namespace

std::vector<GuestThread> Fleet::threads(uint32_t lane) const {
  using namespace kernel;
  Impl::Use use(impl_.get());
  use->check_lanes({&lane, 1}, "threads");
  use->check_memory(lane, "threads");
  Backend& backend = use.backend();
  const auto source = std::find_if(use->programs.begin(), use->programs.end(),
                                   [&](const ProgramFacts& program) { return lane < program.end; });
  GuestThread running = running_thread(backend, lane);
  if (!use->has_processes || !source->process) return {running};
  const u64 window_end = use->window_begin + (use->window_pages << kPageBits);
  const ReadWords own(backend, lane, window_end, 0, kFiles);
  running.process = own[kProcess] != 0 ? static_cast<u32>(own[kProcess]) : kProcessId;
  running.id = own[kThread] != 0 ? static_cast<u32>(own[kThread]) : running.process;
  const WaitState state = static_cast<WaitState>(own[kWaitState]);
  running.is_waiting = state == WaitState::waits;
  const u32 slots = static_cast<u32>(std::min<u64>(own[kThreadSlots], kMostThreads));
  if (slots == 0) return {running};
  const ReadWords all(backend, lane, window_end, kProcesses, kObjects - kProcesses);
  const auto process_of = [&](u32 slot) {
    const auto process = static_cast<u32>(std::min<u64>(all[thread_head(slot, kHeadProcess)], kMostProcesses - 1));
    return own[kProcessSlots] != 0 ? static_cast<u32>(all[process_record(process)]) : kProcessId;
  };
  std::vector<GuestThread> threads;
  for (u32 slot = 0; slot < slots; slot++) {
    const auto id = static_cast<u32>(all[thread_head(slot)]);
    const ThreadState known = static_cast<ThreadState>(all[thread_head(slot, kHeadState)]);
    if (id == 0 || known == ThreadState::gone) continue;
    if (slot == own[kCurrentThread]) {
      if (state != WaitState::leaves) threads.push_back(running);
      continue;
    }
    threads.push_back(kept_thread(all, slot));
    threads.back().id = id;
    threads.back().process = process_of(slot);
    threads.back().is_waiting = known == ThreadState::waiting;
  }
  std::sort(threads.begin(), threads.end(), [](const GuestThread& a, const GuestThread& b) { return a.id < b.id; });
  return threads;
}

}  // namespace myriarm
