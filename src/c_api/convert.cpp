// SPDX-License-Identifier: Apache-2.0
#include "c_api/convert.h"

#include <cstddef>
#include <numeric>

namespace myriarm::c_api {
namespace {

// The numbers of the header are those of the C++ API.
static_assert(MYRIARM_DEVICE_CUDA == static_cast<int>(DeviceKind::cuda));
static_assert(MYRIARM_MEMORY_DEVICE_SHARED == static_cast<int>(MemoryPolicy::device_shared));
static_assert(MYRIARM_MODE_SELF_DISPATCH == static_cast<int>(Mode::self_dispatch));
static_assert(MYRIARM_SIGNAL_CANCELLED == static_cast<int>(Signal::cancelled));
static_assert(MYRIARM_STOP_EXITED == static_cast<int>(StopReason::exited) && kStopReasons <= MYRIARM_MOST_REASONS);
static_assert(MYRIARM_FAULT_ALIGNMENT == static_cast<int>(FaultKind::alignment));
static_assert(MYRIARM_FIELD_SP == static_cast<int>(Field::sp) && MYRIARM_FIELD_PC == static_cast<int>(Field::pc) &&
              MYRIARM_FIELD_NZCV == static_cast<int>(Field::nzcv) &&
              MYRIARM_FIELD_TPIDR == static_cast<int>(Field::tpidr) &&
              MYRIARM_FIELD_FPCR == static_cast<int>(Field::fpcr) &&
              MYRIARM_FIELD_FPSR == static_cast<int>(Field::fpsr) &&
              MYRIARM_FIELD_INSTRUCTIONS == static_cast<int>(Field::instructions) &&
              MYRIARM_FIELD_LIMIT == static_cast<int>(Field::limit) &&
              MYRIARM_FIELD_V0_LOW == static_cast<int>(Field::v0_low) &&
              MYRIARM_FIELD_V0_HIGH == static_cast<int>(Field::v0_high));
static_assert(MYRIARM_READ == static_cast<int>(kRead) && MYRIARM_WRITE == static_cast<int>(kWrite) &&
              MYRIARM_EXECUTE == static_cast<int>(kExecute) && MYRIARM_MAPPED == static_cast<int>(kMapped));

/// Copies a text to an array, cut to the array's size, with a NUL at the end.
template <size_t kSize>
void copy_text(char (&to)[kSize], const std::string& from) {
  const size_t size = std::min(from.size(), kSize - 1);
  std::memcpy(to, from.data(), size);
  to[size] = 0;
}

/// The engine that options name; none for MYRIARM_ENGINE_DEFAULT. `reserved` is the member behind it.
std::optional<Engine> engine_of(uint32_t number, uint32_t reserved) {
  if (reserved != 0) throw ArgumentError("options: reserved is not 0; set it to 0");
  switch (number) {
    case MYRIARM_ENGINE_DEFAULT: return std::nullopt;
    case MYRIARM_ENGINE_INTERPRETER: return Engine::interpreter;
    case MYRIARM_ENGINE_STEPPER: return Engine::stepper;
    case MYRIARM_ENGINE_TRANSLATE: return Engine::translate;
    case MYRIARM_ENGINE_AUTO: return Engine::automatic;
    default: throw ArgumentError("there is no engine " + std::to_string(number) + "; use one of MYRIARM_ENGINE_...");
  }
}

}  // namespace

uint32_t engine_number(Engine engine) {
  switch (engine) {
    case Engine::interpreter: return MYRIARM_ENGINE_INTERPRETER;
    case Engine::stepper: return MYRIARM_ENGINE_STEPPER;
    case Engine::translate: return MYRIARM_ENGINE_TRANSLATE;
    case Engine::automatic: return MYRIARM_ENGINE_AUTO;
  }
  return MYRIARM_ENGINE_DEFAULT;
}

FleetOptions fleet_options(const myriarm_fleet_options* given, const ProgramObject& program) {
  const myriarm_fleet_options known = read_struct(given, "options");
  FleetOptions options;
  if (known.device != nullptr) options.device = known.device;
  if (known.lanes != 0) options.lanes = known.lanes;
  if (known.memory == kUsualMemory) throw ArgumentError("options.memory: there are not so many addresses; give fewer");
  options.memory = known.memory != 0 ? known.memory : program.memory;
  options.pool = known.pool;
  options.threads = known.threads;
  if (known.memory_policy > MYRIARM_MEMORY_DEVICE_SHARED) {
    throw ArgumentError("there is no memory policy " + std::to_string(known.memory_policy) +
                        "; use one of MYRIARM_MEMORY_...");
  }
  options.memory_policy = static_cast<MemoryPolicy>(known.memory_policy);
  if (const auto engine = engine_of(known.engine, known.reserved)) options.engine = *engine;
  options.compile_threads = known.compile_threads;
  options.translation_cache = known.no_translation_cache == 0;
  return options;
}

RunOptions run_options(const myriarm_run_options* given) {
  const myriarm_run_options known = read_struct(given, "options");
  RunOptions options;
  if (known.mode > MYRIARM_MODE_SELF_DISPATCH) {
    throw ArgumentError("there is no mode " + std::to_string(known.mode) + "; use one of MYRIARM_MODE_...");
  }
  options.mode = static_cast<Mode>(known.mode);
  if (known.instructions != 0) options.instructions = known.instructions;
  if (known.instructions_per_batch != 0) options.instructions_per_batch = known.instructions_per_batch;
  if (known.max_batches != 0) options.max_batches = known.max_batches;
  options.timeout = known.timeout;
  options.go_on = known.leave_paused == 0;
  options.engine = engine_of(known.engine, known.reserved);
  return options;
}

myriarm_run_result result_of(const RunResult& result) {
  myriarm_run_result made = {};
  made.instructions = result.instructions;
  made.batches = result.batches;
  made.stopped = result.stopped;
  made.lanes_left = result.lanes_left;
  made.seconds = result.seconds;
  std::copy(result.stops.begin(), result.stops.end(), made.stops);
  made.signal = static_cast<uint32_t>(result.signal);
  made.timed_out = result.timed_out;
  made.lanes_run = result.lanes_run;
  return made;
}

myriarm_translation translation_of(const TranslationReport& report) {
  myriarm_translation made = {};
  made.regions = report.regions;
  made.cached = report.cached;
  made.copied = report.copied;
  made.copied_instructions = report.copied_instructions;
  made.region_instructions = report.instructions;
  made.seconds = report.seconds;
  made.interpreted = report.interpreted;
  made.translated = report.translated;
  made.translated_by_copying = report.translated_by_copying;
  made.visits = report.visits;
  made.lanes_in_visits = report.lanes_in_visits;
  made.refused = report.refused;
  copy_text(made.unavailable, report.unavailable);
  copy_text(made.cache_warning, report.cache_warning);
  return made;
}

myriarm_poll poll_of(const Poll& poll) {
  myriarm_poll made = {};
  made.instructions = poll.instructions;
  made.lanes_running = poll.lanes_running;
  made.seconds = poll.seconds;
  made.running = poll.running;
  made.signal = static_cast<uint32_t>(poll.signal);
  return made;
}

myriarm_device device_of(const Device& device) {
  myriarm_device made = {};
  made.memory_bytes = device.memory_bytes;
  made.kind = static_cast<uint32_t>(device.kind);
  made.ordinal = device.ordinal;
  made.units = device.units;
  made.team_lanes = device.team_lanes;
  copy_text(made.id, device.id);
  copy_text(made.name, device.name);
  return made;
}

myriarm_stop stop_of(const Stop& stop) {
  return {static_cast<uint8_t>(stop.reason), static_cast<uint8_t>(stop.fault), {}, stop.detail, stop.address};
}
Stop stop_of(const myriarm_stop& stop) {
  return {static_cast<StopReason>(stop.reason), static_cast<FaultKind>(stop.fault), stop.detail, stop.address};
}

myriarm_thread thread_of(const GuestThread& thread) {
  myriarm_thread made = {};
  made.id = thread.id;
  made.process = thread.process;
  made.is_running = thread.is_running;
  made.is_waiting = thread.is_waiting;
  std::copy(thread.x.begin(), thread.x.end(), made.x);
  made.sp = thread.sp;
  made.pc = thread.pc;
  made.nzcv = thread.nzcv;
  made.tpidr = thread.tpidr;
  made.fpcr = thread.fpcr;
  made.fpsr = thread.fpsr;
  for (size_t n = 0; n < thread.v.size(); n++) std::copy(thread.v[n].begin(), thread.v[n].end(), made.v[n]);
  return made;
}

Field field_of(uint32_t number) {
  if (number >= static_cast<uint32_t>(Field::count)) {
    throw ArgumentError("there is no field " + std::to_string(number) +
                        "; use MYRIARM_FIELD_..., MYRIARM_X(0 to 30), "
                        "MYRIARM_V_LOW(0 to 31) or MYRIARM_V_HIGH(0 to 31)");
  }
  return static_cast<Field>(number);
}

Lanes::Lanes(const Fleet& fleet, const uint32_t* lanes, uint64_t count) : lanes_(lanes, lanes == nullptr ? 0 : count) {
  if (lanes != nullptr || count == 0) return;
  if (count != fleet.lanes()) {
    throw ArgumentError("lanes is NULL, which is all lanes, and count is " + std::to_string(count) +
                        "; it must be the number of lanes, " + std::to_string(fleet.lanes()));
  }
  every_.resize(count);
  std::iota(every_.begin(), every_.end(), 0u);
  lanes_ = every_;
}

}  // namespace myriarm::c_api
