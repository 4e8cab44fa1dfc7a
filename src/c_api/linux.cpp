// SPDX-License-Identifier: Apache-2.0
// The C API: fleets of Linux processes.
#include "myriarm/linux.h"

#include "c_api/convert.h"

using namespace myriarm;
using namespace myriarm::c_api;

namespace {

std::vector<std::string> strings_of(const char* const* strings, uint64_t count, const char* what) {
  std::vector<std::string> made;
  for (const char* text : span_of(strings, count, what)) made.emplace_back(&required(text, what));
  return made;
}

LinuxOptions linux_options(const myriarm_linux_options* given) {
  const myriarm_linux_options known = read_struct(given, "linux_options");
  LinuxOptions options;
  options.arguments = strings_of(known.arguments, known.argument_count, "arguments");
  options.environment = strings_of(known.environment, known.environment_count, "environment");
  const std::span<const uint8_t> input =
      span_of(static_cast<const uint8_t*>(known.standard_input), known.standard_input_size, "standard_input");
  options.standard_input.assign(input.begin(), input.end());
  options.seed = known.seed;
  options.pass_output = known.pass_output != 0;
  if (known.output_limit != 0) options.output_limit = known.output_limit;
  options.keep_memory = known.keep_memory != 0;
  return options;
}

/// A fleet of processes, locked for one call.
class Processes {
 public:
  explicit Processes(myriarm_fleet* fleet) : object_(fleets().find(fleet)) {
    if (!object_->linux_fleet) {
      throw ArgumentError("the fleet has no Linux processes; give one that myriarm_linux_create() made");
    }
    lock_ = std::unique_lock(object_->linux_calls, std::try_to_lock);
    if (!lock_) throw StateError("the fleet is in use by another thread; wait until its call has returned");
  }
  LinuxFleet* operator->() const { return object_->linux_fleet.get(); }

 private:
  std::shared_ptr<FleetObject> object_;
  std::unique_lock<std::mutex> lock_;  // after object_, so that it is unlocked before the mutex is destroyed
};

}  // namespace

myriarm_status myriarm_linux_create(const myriarm_program* program, const myriarm_fleet_options* options,
                                    const myriarm_linux_options* linux_options_given, myriarm_fleet** fleet) {
  return guarded([&] {
    (void)required(fleet, "fleet");
    const auto source = programs().find(program);
    if (!source->is_elf) {
      throw ArgumentError(
          "the program is raw machine code and not a Linux executable; make it with myriarm_program_elf()");
    }
    auto made = std::make_shared<FleetObject>();
    made->linux_fleet = std::make_unique<LinuxFleet>(source->image, fleet_options(options, *source),
                                                     linux_options(linux_options_given));
    *fleet = fleets().add(std::move(made));
  });
}

myriarm_status myriarm_linux_run(myriarm_fleet* fleet, myriarm_run_result* result) {
  return guarded([&] {
    const Processes processes(fleet);
    if (result != nullptr) check_output(result, "result");
    const RunResult ran = processes->run();
    if (result != nullptr) write_struct(result, result_of(ran));
  });
}

myriarm_status myriarm_linux_get_outcome(myriarm_fleet* fleet, uint32_t lane, myriarm_linux_outcome* outcome) {
  return guarded([&] {
    const Processes processes(fleet);
    check_output(outcome, "outcome");
    const LaneOutcome found = processes->outcome(lane);
    write_struct(outcome, {0, stop_of(found.stop), found.exit_status, found.signal});
  });
}

myriarm_status myriarm_linux_get_output(myriarm_fleet* fleet, uint32_t lane, uint32_t stream, void* buffer,
                                        uint64_t capacity, uint64_t* size) {
  return guarded([&] {
    const Processes processes(fleet);
    (void)required(size, "size");
    const std::span<uint8_t> to = span_of(static_cast<uint8_t*>(buffer), capacity, "buffer");
    if (stream != 1 && stream != 2) {
      throw ArgumentError("there is no output stream " + std::to_string(stream) +
                          "; use 1 for standard output or 2 for standard error");
    }
    const std::span<const uint8_t> bytes =
        stream == 1 ? processes->standard_output(lane) : processes->standard_error(lane);
    std::copy_n(bytes.begin(), std::min<uint64_t>(bytes.size(), to.size()), to.begin());
    *size = bytes.size();
  });
}
