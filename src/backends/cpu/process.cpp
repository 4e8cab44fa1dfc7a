// SPDX-License-Identifier: Apache-2.0
// Serves the system calls of lanes that are processes, each in the thread that runs its lane.
#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/process_machine.h"
#include "kernel/descriptors.h"
#include "kernel/serve.h"

namespace myriarm::cpu {

const kernel::ProcessFacts* CpuBackend::process_of(u64 lane) const {
  if (process_host_ == nullptr) return nullptr;
  const auto& process = program(lane).process;
  return process ? &*process : nullptr;
}

bool CpuBackend::serve_call(Lane& lane, u64 index) {
  const auto change_pages = [](void* backend, Lane& of, u64 number, const kernel::PageChange& change) {
    CpuBackend& self = *static_cast<CpuBackend*>(backend);
    const u64 page = (change.begin >> kPageBits) - self.first_page_, count = (change.end - change.begin) >> kPageBits;
    if (change.action == kernel::PageAction::protect) self.protect_pages(of, number, page, count, change.permissions);
    else self.replace_pages(of, number, page, count, change.action == kernel::PageAction::map, change.permissions);
  };
  const auto share_pages = [](void* backend, Lane& of, u64 number, u64 address, u32 permissions,
                              std::span<const u8> bytes) {
    return static_cast<CpuBackend*>(backend)->share_pages(of, number, address, permissions, bytes);
  };
  lane.stop = {};
  ProcessMachine machine(lane, index, *process_of(index), *process_host_, this, change_pages, share_pages);
  const bool traced = process_host_->input(static_cast<u32>(index)).traced;
  if (traced) {
    MachineCall call(machine, static_cast<u32>(index), lane.pc);
    process_host_->before(call);
  }
  const kernel::Result result = kernel::serve(machine);
  if (result.served == kernel::Served::again) {
    if (lane.stop.code == StopCode::none) lane.stop = stop_record(StopCode::cancelled);
    return false;
  }
  const bool ended = result.served == kernel::Served::ended;
  if (traced || result.served == kernel::Served::missing) {
    MachineCall call(machine, static_cast<u32>(index), lane.pc);
    if (result.served == kernel::Served::missing) process_host_->unimplemented(call);
    if (traced) process_host_->after(call, ended ? nullptr : &result.value);
  }
  lane.pc += 4;
  lane.retired++;
  if (ended) {
    lane.stop = stop_record(StopCode::exited, static_cast<u32>(result.value));
    return false;
  }
  lane.r[0] = static_cast<u64>(result.value);
  return update_code(lane);
}

}  // namespace myriarm::cpu
