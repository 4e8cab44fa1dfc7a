// SPDX-License-Identifier: Apache-2.0
// Converts structs and numbers of the C API to those of the C++ API and back, and the lanes that a call names.
#pragma once

#include <vector>

#include "c_api/boundary.h"
#include "c_api/handles.h"
#include "myriarm/fleet.h"

namespace myriarm::c_api {

FleetOptions fleet_options(const myriarm_fleet_options* given, const ProgramObject& program);
RunOptions run_options(const myriarm_run_options* given);
myriarm_run_result result_of(const RunResult& result);
myriarm_translation translation_of(const TranslationReport& report);
myriarm_poll poll_of(const Poll& poll);
myriarm_device device_of(const Device& device);
myriarm_stop stop_of(const Stop& stop);
Stop stop_of(const myriarm_stop& stop);
myriarm_thread thread_of(const GuestThread& thread);
Field field_of(uint32_t number);
/// MYRIARM_ENGINE_... of an engine.
uint32_t engine_number(Engine engine);

/// The lanes that a call names; NULL names all of them, and then `count` must be their number.
class Lanes {
 public:
  Lanes(const Fleet& fleet, const uint32_t* lanes, uint64_t count);
  operator std::span<const uint32_t>() const { return lanes_; }  // NOLINT(google-explicit-constructor)
  std::span<const uint32_t> span() const { return lanes_; }

 private:
  std::vector<uint32_t> every_;
  std::span<const uint32_t> lanes_;
};

}  // namespace myriarm::c_api
