// SPDX-License-Identifier: Apache-2.0
// The C API: devices, programs, and how fleets are made and run. Each function checks its pointers and calls the C++
// API.
#include "myriarm/fleet.h"

#include "c_api/convert.h"

using namespace myriarm;
using namespace myriarm::c_api;

namespace {

/// The bytes of an argument.
std::vector<uint8_t> bytes_of(const void* bytes, uint64_t size) {
  const std::span<const uint8_t> given = span_of(static_cast<const uint8_t*>(bytes), size, "bytes");
  return {given.begin(), given.end()};
}

void add_program(ProgramObject made, myriarm_program** program) {
  *program = programs().add(std::make_shared<ProgramObject>(std::move(made)));
}

}  // namespace

myriarm_status myriarm_count_devices(uint64_t* count) {
  return guarded([&] { required(count, "count") = devices().size(); });
}

myriarm_status myriarm_get_device(uint64_t index, myriarm_device* device) {
  return guarded([&] {
    check_output(device, "device");
    const std::vector<Device> all = devices();
    if (index >= all.size()) {
      throw ArgumentError("there is no device " + std::to_string(index) + "; this machine has devices 0 to " +
                          std::to_string(all.size() - 1));
    }
    write_struct(device, device_of(all[index]));
  });
}

myriarm_status myriarm_find_device(const char* name, myriarm_device* device) {
  return guarded([&] {
    if (device != nullptr) check_output(device, "device");
    const Device found = find_device(name == nullptr ? "auto" : name);
    if (device != nullptr) write_struct(device, device_of(found));
  });
}

myriarm_status myriarm_program_raw(const void* bytes, uint64_t size, uint64_t address, uint64_t memory,
                                   myriarm_program** program) {
  return guarded([&] {
    (void)required(program, "program");
    ProgramObject made;
    made.image.program = raw_program("program", bytes_of(bytes, size), address, memory);
    made.memory = memory;
    add_program(std::move(made), program);
  });
}

myriarm_status myriarm_program_elf(const void* bytes, uint64_t size, const char* name, myriarm_program** program) {
  return guarded([&] {
    (void)required(program, "program");
    add_program({parse_elf(bytes_of(bytes, size), &required(name, "name")), true, kUsualMemory}, program);
  });
}

myriarm_status myriarm_program_load(const char* path, myriarm_program** program) {
  return guarded([&] {
    (void)required(program, "program");
    add_program({load_elf(&required(path, "path")), true, kUsualMemory}, program);
  });
}

myriarm_status myriarm_program_free(myriarm_program* program) {
  return guarded([&] { programs().take(program); });
}

myriarm_status myriarm_fleet_create(const myriarm_program* program, const myriarm_fleet_options* options,
                                    myriarm_fleet** fleet) {
  return guarded([&] {
    (void)required(fleet, "fleet");
    const auto source = programs().find(program);
    auto made = std::make_shared<FleetObject>();
    made->own.emplace(source->image.program, fleet_options(options, *source));
    *fleet = fleets().add(std::move(made));
  });
}

myriarm_status myriarm_fleet_free(myriarm_fleet* fleet) {
  return guarded([&] {
    const auto object = fleets().take(fleet);
    // Another thread may be in a call: the last call that uses the fleet destroys it.
    if (object->linux_fleet) object->linux_fleet->cancel();
    else object->own->cancel();
  });
}

myriarm_status myriarm_fleet_get_info(myriarm_fleet* fleet, myriarm_fleet_info* info) {
  return guarded([&] {
    const auto object = fleets().find(fleet);
    check_output(info, "info");
    const Fleet& of = object->fleet();
    write_struct(info, {0, of.lanes(), of.memory_begin(), of.memory_end(), static_cast<uint32_t>(of.memory_policy()),
                        static_cast<uint32_t>(of.team_lanes()), engine_number(of.engine()), 0});
  });
}

myriarm_status myriarm_fleet_get_device(myriarm_fleet* fleet, myriarm_device* device) {
  return guarded([&] {
    const auto object = fleets().find(fleet);
    check_output(device, "device");
    write_struct(device, device_of(object->fleet().device()));
  });
}

myriarm_status myriarm_fleet_get_translation(myriarm_fleet* fleet, myriarm_translation* translation) {
  return guarded([&] {
    const auto object = fleets().find(fleet);
    check_output(translation, "translation");
    write_struct(translation, translation_of(object->fleet().translation()));
  });
}

myriarm_status myriarm_fleet_run(myriarm_fleet* fleet, const myriarm_run_options* options, myriarm_run_result* result) {
  return guarded([&] {
    const auto object = fleets().find(fleet);
    if (result != nullptr) check_output(result, "result");
    const RunResult ran = object->fleet().run(run_options(options));
    if (result != nullptr) write_struct(result, result_of(ran));
  });
}

myriarm_status myriarm_fleet_start(myriarm_fleet* fleet, const myriarm_run_options* options) {
  return guarded([&] { fleets().find(fleet)->fleet().start(run_options(options)); });
}

myriarm_status myriarm_fleet_poll(myriarm_fleet* fleet, myriarm_poll* poll) {
  return guarded([&] {
    const auto object = fleets().find(fleet);
    check_output(poll, "poll");
    write_struct(poll, poll_of(object->fleet().poll()));
  });
}

myriarm_status myriarm_fleet_wait(myriarm_fleet* fleet, double seconds, uint32_t* ended, myriarm_run_result* result) {
  return guarded([&] {
    const auto object = fleets().find(fleet);
    (void)required(ended, "ended");
    if (result != nullptr) check_output(result, "result");
    const std::optional<RunResult> ran = object->fleet().wait(seconds);
    *ended = ran.has_value();
    if (ran && result != nullptr) write_struct(result, result_of(*ran));
  });
}

myriarm_status myriarm_fleet_cancel(myriarm_fleet* fleet) {
  return guarded([&] {
    const auto object = fleets().find(fleet);
    if (object->linux_fleet) object->linux_fleet->cancel();
    else object->own->cancel();
  });
}
