// SPDX-License-Identifier: Apache-2.0
// Serves the system calls of lanes that are processes, each in the thread that runs its lane.
#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/process_machine.h"
#include "backends/cpu/process_words.h"
#include "kernel/descriptors.h"
#include "kernel/serve.h"

namespace myriarm::cpu {

const kernel::ProcessFacts* CpuBackend::process_of(u64 lane) const {
  if (process_host_ == nullptr) return nullptr;
  const auto& process = program(lane).process;
  return process ? &*process : nullptr;
}

ProcessMachine CpuBackend::machine_of(Lane& lane, u64 index) {
  const auto change_pages = [](void* backend, Lane& of, const kernel::PageChange& change) {
    CpuBackend& self = *static_cast<CpuBackend*>(backend);
    const u64 page = (change.begin >> kPageBits) - self.first_page_, count = (change.end - change.begin) >> kPageBits;
    if (change.action == kernel::PageAction::protect) self.protect_pages(of, page, count, change.permissions);
    else self.replace_pages(of, page, count, change.action == kernel::PageAction::map, change.permissions);
  };
  const auto share_pages = [](void* backend, Lane& of, u64 address, u32 permissions, std::span<const u8> bytes) {
    return static_cast<CpuBackend*>(backend)->share_pages(of, address, permissions, bytes);
  };
  return {lane, index, *process_of(index), *process_host_, this, change_pages, share_pages};
}

bool CpuBackend::goes_on(Lane& lane, const kernel::Result& result) {
  if (result.served == kernel::Served::again) {
    if (lane.stop.code == StopCode::none) lane.stop = stop_record(StopCode::cancelled);
    return false;
  }
  if (result.served == kernel::Served::ended) {
    lane.stop = stop_record(StopCode::exited, static_cast<u32>(result.value));
    return false;
  }
  return update_code(lane);
}

bool CpuBackend::serve_call(Lane& lane, u64 index) {
  lane.stop = {};
  ProcessMachine machine = machine_of(lane, index);
  const u64 pc = lane.pc;
  const bool traced = process_host_->input(static_cast<u32>(index)).traced;
  if (traced) {
    MachineCall call(machine, static_cast<u32>(index), pc);
    process_host_->before(call);
  }
  // A call sees the lane behind its SVC.
  lane.pc += 4;
  lane.retired++;
  const kernel::Result result = kernel::serve(machine);
  if (traced || result.served == kernel::Served::missing) {
    MachineCall call(machine, static_cast<u32>(index), pc);
    if (result.served == kernel::Served::missing) process_host_->unimplemented(call);
    if (traced) tell_host_of_result(machine, *process_host_, call, result);
  }
  if (result.served == kernel::Served::again) {
    if (kernel::goes_back_to_svc(machine)) {
      lane.pc = pc;
      lane.retired--;
    }
    return goes_on(lane, result);
  }
  if (kernel::sets_x0(result.served)) lane.r[0] = static_cast<u64>(result.value);
  return goes_on(lane, result);
}

u64 CpuBackend::attention_at(const Lane& lane) { return kernel::attention_at(ProcessWords{lane}); }

bool CpuBackend::deliver_signals(Lane& lane, u64 index) {
  ProcessMachine machine = machine_of(lane, index);
  return goes_on(lane, kernel::deliver(machine));
}

bool CpuBackend::deliver_fault(Lane& lane, u64 index) {
  const StopRecord stop = lane.stop;
  if (stop.code == StopCode::breakpoint && process_host_->keeps_breakpoints()) return false;
  lane.stop = {};
  ProcessMachine machine = machine_of(lane, index);
  const kernel::Result result = kernel::deliver_fault(machine, stop);
  if (result.served != kernel::Served::missing) return goes_on(lane, result);
  lane.stop = stop;
  return false;
}

}  // namespace myriarm::cpu
