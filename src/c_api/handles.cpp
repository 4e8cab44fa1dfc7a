// SPDX-License-Identifier: Apache-2.0
#include "c_api/handles.h"

#include <atomic>

namespace myriarm::c_api {

uintptr_t next_handle() {
  static std::atomic<uintptr_t> last{0};
  return last += 16;  // aligned like a pointer
}

// The registries are never destroyed, because a thread may still be in a call when the process ends.
Registry<myriarm_program, ProgramObject>& programs() {
  static auto* all =
      new Registry<myriarm_program, ProgramObject>("program", "myriarm_program_raw(), _elf() or _load()");
  return *all;
}
Registry<myriarm_fleet, FleetObject>& fleets() {
  static auto* all =
      new Registry<myriarm_fleet, FleetObject>("fleet", "myriarm_fleet_create() or myriarm_linux_create()");
  return *all;
}

}  // namespace myriarm::c_api
