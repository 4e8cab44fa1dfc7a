// SPDX-License-Identifier: Apache-2.0
// How a fleet is made, and access to the state of its lanes. Checks what the caller gives and passes it on to a
// backend, many lanes at a time.
#include "myriarm/fleet.h"

#include <algorithm>

#include "core/system/registers.h"
#include "fleet/fleet_impl.h"
#include "fleet/image.h"
#include "fleet/program_state.h"
#include "support/text.h"

namespace myriarm {
namespace {

/// The bits of a value that the register has. An engine never sees other bits.
u64 legal(Field field, u64 value) {
  switch (field) {
    case Field::nzcv: return value & 15;
    case Field::fpcr: return value & kFpcrMask;
    case Field::fpsr: return value & kFpsrMask;
    default: return value;
  }
}

/// The number of lanes of all programs together.
u64 count_lanes(std::span<const PlacedProgram> programs) {
  if (programs.empty()) throw ArgumentError("a fleet needs a program; give at least one");
  u64 lanes = 0;
  for (const PlacedProgram& program : programs) {
    const u64 more = program.lanes;
    if (more == 0) throw ArgumentError("a fleet of zero lanes cannot run; ask for at least 1");
    if (more > kMostLanes || lanes + more > kMostLanes) {
      throw ArgumentError(std::to_string(more > kMostLanes ? more : lanes + more) +
                          " lanes are too many; ask for at most " + std::to_string(kMostLanes));
    }
    lanes += more;
  }
  return lanes;
}

/// Each team must run one program.
void check_teams(std::span<const PlacedProgram> programs, const Device& device) {
  for (size_t i = 0; i + 1 < programs.size(); i++) {
    if (programs[i].lanes % device.team_lanes == 0) continue;
    throw ArgumentError("program " + std::to_string(i) + " of " + std::to_string(programs.size()) + " has " +
                        std::to_string(programs[i].lanes) + " lanes; on device " + device.id +
                        " all programs but the last need a multiple of " + std::to_string(device.team_lanes));
  }
}

}  // namespace

void Fleet::Impl::check_lanes(std::span<const uint32_t> lanes, const char* what) const {
  for (uint32_t lane : lanes) {
    if (lane >= options.lanes) {
      throw ArgumentError(std::string(what) + ": there is no lane " + std::to_string(lane) +
                          "; the fleet has lanes 0 to " + std::to_string(options.lanes - 1));
    }
  }
}

void Fleet::Impl::check_transfers(std::span<const Transfer> transfers, size_t buffer, size_t done,
                                  const char* what) const {
  if (done != 0 && done != transfers.size()) {
    throw ArgumentError(std::string(what) + ": done has " + std::to_string(done) + " elements for " +
                        std::to_string(transfers.size()) + " transfers; give one for each, or none");
  }
  for (const Transfer& t : transfers) {
    if (t.lane >= options.lanes) check_lanes({&t.lane, 1}, what);
    if (t.offset > buffer || t.size > buffer - t.offset) {
      throw ArgumentError(std::string(what) + ": a transfer of " + std::to_string(t.size) + " bytes at offset " +
                          std::to_string(t.offset) + " does not fit in the buffer of " + std::to_string(buffer) +
                          " bytes; give a larger buffer");
    }
    check_memory(t.lane, what);
  }
}

void Fleet::Impl::check_memory(uint32_t lane, const char* what) const {
  if (core->backend->has_memory(lane)) return;
  throw StateError(std::string(what) + ": lane " + std::to_string(lane) +
                   " has ended and given its memory back; make the fleet with keep_memory, or restore() a snapshot of "
                   "the lane");
}

void Fleet::Impl::check_field(Field field) {
  if (field >= Field::count) {
    throw ArgumentError("there is no field " + std::to_string(static_cast<unsigned>(field)) +
                        "; use a value of Field, x(), v_low() or v_high()");
  }
}

void Fleet::Impl::check_size(size_t have, size_t want, const char* what) {
  if (have != want) {
    throw ArgumentError(std::string(what) + ": " + std::to_string(have) + " values for " + std::to_string(want) +
                        " lanes; give one for each lane");
  }
}

std::pair<u64, u64> Fleet::Impl::pages(uint64_t address, uint64_t size, const char* what) const {
  u64 bytes = window_pages << kPageBits;
  const auto range = [&] { return std::string(what) + ": " + std::to_string(size) + " bytes at " + hex(address); };
  if (address % kPageSize || size % kPageSize || size == 0) {
    throw ArgumentError(range() + " are not whole pages; address and size must be multiples of 4096, and size above 0");
  }
  if (address < window_begin || address - window_begin >= bytes || size > bytes - (address - window_begin)) {
    throw ArgumentError(range() + " do not lie in the fleet's window, which is " + hex(window_begin) + " to " +
                        hex(window_begin + bytes) + "; give pages inside it");
  }
  return {(address - window_begin) >> kPageBits, size >> kPageBits};
}

std::span<const Transfer> Fleet::Impl::inside_window(std::span<const Transfer> transfers,
                                                     std::vector<Transfer>& clipped) const {
  if (!has_processes) return transfers;  // behind the window there is nothing
  const u64 window = window_pages << kPageBits;
  const auto room = [&](const Transfer& t) {
    const u64 offset = untagged(t.address) - window_begin;
    return offset < window ? window - offset : 0;
  };
  if (std::all_of(transfers.begin(), transfers.end(), [&](const Transfer& t) { return t.size <= room(t); })) {
    return transfers;
  }
  clipped.assign(transfers.begin(), transfers.end());
  for (Transfer& t : clipped) t.size = static_cast<u32>(std::min<u64>(t.size, room(t)));
  return clipped;
}

u32 Fleet::Impl::allowed(uint32_t permissions) const {
  const u32 all =
      options.memory_policy == MemoryPolicy::read_only ? u32{kRead | kExecute} : u32{kRead | kWrite | kExecute};
  return permissions & all;
}

void Fleet::Impl::scatter(Field field, std::span<const uint32_t> lanes, std::span<const uint64_t> values) {
  if (field == Field::instructions) counts_touched = true;
  if (legal(field, ~u64{0}) == ~u64{0}) return core->backend->scatter(field, lanes, values);
  std::vector<uint64_t> kept(values.begin(), values.end());
  for (uint64_t& value : kept) value = legal(field, value);
  core->backend->scatter(field, lanes, kept);
}

Stop Fleet::Impl::stop_of(const StopRecord& record) {
  return {static_cast<StopReason>(record.code), static_cast<FaultKind>(record.fault), record.detail, record.address};
}

const std::vector<Stop>& Fleet::Impl::current_stops() {
  if (!stops_current) {
    std::span<const StopRecord> records = core->backend->stops();
    stops.resize(records.size());
    for (size_t i = 0; i < records.size(); i++) {
      stops[i] = stop_of(records[i]);
    }
    stops_current = true;
  }
  return stops;
}

void Fleet::Impl::put_stops(std::span<const uint32_t> lanes, std::span<const StopRecord> records) {
  stops_current = false;
  stops_touched = true;
  core->backend->scatter_stops(lanes, records);
}

void Fleet::Impl::make(Fleet* fleet, std::span<const PlacedProgram> programs, const FleetOptions& wanted) {
  owner = fleet;
  options = wanted;
  options.lanes = count_lanes(programs);
  if (options.memory == kUsualMemory) options.memory = kFleetMemory;
  if (options.memory_policy > MemoryPolicy::device_shared) {
    throw ArgumentError("there is no memory policy " + std::to_string(static_cast<unsigned>(options.memory_policy)) +
                        "; use one of MemoryPolicy");
  }
  const Image image =
      make_image(programs, options.memory, options.memory_policy == MemoryPolicy::read_only, options.processes);
  has_processes = image.kernel_pages != 0;
  if (has_processes) core->processes = options.processes.host;
  if (has_processes && options.memory_policy != MemoryPolicy::private_copy &&
      options.memory_policy != MemoryPolicy::transactional) {
    throw ArgumentError(
        "a process cannot live with this memory policy, which leaves its pages no copy of their own; "
        "use private_copy or transactional");
  }
  window_begin = image.window_begin;
  window_pages = image.window_pages;
  device = find_device(options.device);
  check_engine(options.engine);
  options.engine = chosen_engine(options.engine, device);
  check_teams(programs, device);
  core->backend = make_backend(image, options, device);
  write_states(*core->backend, programs);
  u64 lanes = 0;
  for (const PlacedProgram& placed : programs) {
    lanes += placed.lanes;
    this->programs.push_back({lanes, placed.program.name, placed.program.process});
  }
}

Fleet::Fleet(const Program& program, const FleetOptions& options) : impl_(std::make_unique<Impl>()) {
  const PlacedProgram placed{program, options.lanes};
  impl_->make(this, std::span(&placed, 1), options);
}
Fleet::Fleet(std::span<const Placement> programs, const FleetOptions& options) : impl_(std::make_unique<Impl>()) {
  std::vector<PlacedProgram> placed;
  for (const Placement& placement : programs) placed.push_back({placement.program, placement.lanes});
  impl_->make(this, placed, options);
}

uint64_t Fleet::lanes() const { return Impl::open(impl_.get()).options.lanes; }
const Device& Fleet::device() const { return Impl::open(impl_.get()).device; }
uint64_t Fleet::team_lanes() const { return device().team_lanes; }
Engine Fleet::engine() const { return Impl::open(impl_.get()).options.engine; }
uint64_t Fleet::memory_begin() const { return Impl::open(impl_.get()).window_begin; }
uint64_t Fleet::memory_end() const {
  const Impl& impl = Impl::open(impl_.get());
  return impl.window_begin + (impl.window_pages << kPageBits);
}
MemoryPolicy Fleet::memory_policy() const { return Impl::open(impl_.get()).options.memory_policy; }

std::span<const Stop> Fleet::stops() const { return Impl::Use(impl_.get())->current_stops(); }

void Fleet::get_stops(std::span<const uint32_t> lanes, std::span<Stop> values) const {
  Impl::Use use(impl_.get());
  use->check_lanes(lanes, "get_stops");
  Impl::check_size(values.size(), lanes.size(), "get_stops");
  const std::span<const StopRecord> records = use.backend().stops();
  for (size_t i = 0; i < lanes.size(); i++) values[i] = Impl::stop_of(records[lanes[i]]);
}

void Fleet::resume(std::span<const uint32_t> lanes) {
  Impl::Use use(impl_.get());
  use->check_lanes(lanes, "resume");
  use->check_memory(lanes, "resume");
  if (!lanes.empty()) use->put_stops(lanes, std::vector<StopRecord>(lanes.size()));
}
void Fleet::resume_all() {
  Impl::Use use(impl_.get());
  std::vector<u32> lanes;
  for (u32 lane = 0; lane < use->options.lanes; lane++) {
    if (use.backend().has_memory(lane)) lanes.push_back(lane);
  }
  const bool all = lanes.size() == use->options.lanes;
  if (!lanes.empty()) use->put_stops(all ? std::span<const u32>() : lanes, std::vector<StopRecord>(lanes.size()));
}
void Fleet::set_stops(std::span<const uint32_t> lanes, std::span<const Stop> stops) {
  Impl::Use use(impl_.get());
  use->check_lanes(lanes, "set_stops");
  Impl::check_size(stops.size(), lanes.size(), "set_stops");
  if (lanes.empty()) return;
  std::vector<StopRecord> records;
  for (const Stop& stop : stops) {
    if (stop.reason > StopReason::exited || stop.fault > FaultKind::alignment) {
      throw ArgumentError("set_stops: there is no stop with reason " +
                          std::to_string(static_cast<unsigned>(stop.reason)) + " and fault " +
                          std::to_string(static_cast<unsigned>(stop.fault)) + "; use those of the enumerations");
    }
    records.push_back(
        {static_cast<StopCode>(stop.reason), static_cast<FaultCode>(stop.fault), 0, stop.detail, stop.address});
  }
  use->put_stops(lanes, records);
}

void Fleet::get(Field field, std::span<const uint32_t> lanes, std::span<uint64_t> values) const {
  Impl::Use use(impl_.get());
  Impl::check_field(field);
  use->check_lanes(lanes, "get");
  Impl::check_size(values.size(), lanes.size(), "get");
  if (!lanes.empty()) use.backend().gather(field, lanes, values);
}
void Fleet::set(Field field, std::span<const uint32_t> lanes, std::span<const uint64_t> values) {
  Impl::Use use(impl_.get());
  Impl::check_field(field);
  use->check_lanes(lanes, "set");
  Impl::check_size(values.size(), lanes.size(), "set");
  if (!lanes.empty()) use->scatter(field, lanes, values);
}
void Fleet::get_all(Field field, std::span<uint64_t> values) const {
  Impl::Use use(impl_.get());
  Impl::check_field(field);
  Impl::check_size(values.size(), use->options.lanes, "get_all");
  use.backend().gather(field, {}, values);
}
void Fleet::set_all(Field field, std::span<const uint64_t> values) {
  Impl::Use use(impl_.get());
  Impl::check_field(field);
  Impl::check_size(values.size(), use->options.lanes, "set_all");
  use->scatter(field, {}, values);
}
void Fleet::fill(Field field, uint64_t value) {
  Impl::Use use(impl_.get());
  Impl::check_field(field);
  if (field == Field::instructions) use->counts_touched = true;
  use.backend().fill(field, legal(field, value));
}
uint64_t Fleet::get(Field field, uint32_t lane) const {
  uint64_t value = 0;
  get(field, std::span(&lane, 1), std::span(&value, 1));
  return value;
}
void Fleet::set(Field field, uint32_t lane, uint64_t value) {
  set(field, std::span<const uint32_t>(&lane, 1), std::span<const uint64_t>(&value, 1));
}

void Fleet::read(std::span<const Transfer> transfers, std::span<uint8_t> buffer, std::span<uint32_t> done) const {
  Impl::Use use(impl_.get());
  use->check_transfers(transfers, buffer.size(), done.size(), "read");
  std::vector<Transfer> clipped;
  if (!transfers.empty()) use.backend().read(use->inside_window(transfers, clipped), buffer, done);
}
void Fleet::write(std::span<const Transfer> transfers, std::span<const uint8_t> buffer, std::span<uint32_t> done) {
  Impl::Use use(impl_.get());
  use->check_transfers(transfers, buffer.size(), done.size(), "write");
  std::vector<Transfer> clipped;
  if (transfers.empty() || use.backend().write(use->inside_window(transfers, clipped), buffer, done)) return;
  throw DeviceError("the pool of " + std::to_string(use.backend().pool_size() >> 20) +
                    " MiB for written pages is full; grow it or make the fleet with a larger pool");
}

void Fleet::write_later(std::span<const Transfer> transfers, std::span<const uint8_t> buffer) {
  Impl::Use use(impl_.get());
  use->check_transfers(transfers, buffer.size(), 0, "write_later");
  std::vector<Transfer> clipped;
  if (!transfers.empty()) use.backend().write_later(use->inside_window(transfers, clipped), buffer);
}

namespace {
/// Splits an access to one lane into transfers that each fit a uint32_t.
template <class Each>
void split(uint32_t lane, uint64_t address, uint64_t size, Each each) {
  constexpr uint64_t kMost = uint64_t{1} << 30;
  for (uint64_t at = 0; at < size; at += kMost) {
    Transfer transfer{lane, static_cast<uint32_t>(std::min(kMost, size - at)), address + at, at};
    uint32_t done = 0;
    each(transfer, std::span(&done, 1));
    if (done != transfer.size) {
      throw ArgumentError("lane " + std::to_string(lane) + " has no memory at address " + hex(address + at + done) +
                          "; map it first");
    }
  }
}
}  // namespace

std::vector<uint8_t> Fleet::read(uint32_t lane, uint64_t address, uint64_t size) const {
  if (size > memory_end() - memory_begin())
    throw ArgumentError("read: " + std::to_string(size) + " bytes are more than the fleet's window of " +
                        std::to_string(memory_end() - memory_begin()) + "; read less");
  std::vector<uint8_t> bytes(size);
  split(lane, address, size, [&](const Transfer& t, std::span<uint32_t> done) { read(std::span(&t, 1), bytes, done); });
  return bytes;
}
void Fleet::write(uint32_t lane, uint64_t address, std::span<const uint8_t> bytes) {
  split(lane, address, bytes.size(),
        [&](const Transfer& t, std::span<uint32_t> done) { write(std::span(&t, 1), bytes, done); });
}

void Fleet::map(std::span<const uint32_t> lanes, uint64_t address, uint64_t size, uint32_t permissions) {
  Impl::Use use(impl_.get());
  use->check_lanes(lanes, "map");
  use->check_memory(lanes, "map");
  auto [page, count] = use->pages(address, size, "map");
  if (!lanes.empty()) use.backend().map(lanes, page, count, use->allowed(permissions));
}
void Fleet::unmap(std::span<const uint32_t> lanes, uint64_t address, uint64_t size) {
  Impl::Use use(impl_.get());
  use->check_lanes(lanes, "unmap");
  use->check_memory(lanes, "unmap");
  auto [page, count] = use->pages(address, size, "unmap");
  if (!lanes.empty()) use.backend().unmap(lanes, page, count);
}
void Fleet::protect(std::span<const uint32_t> lanes, uint64_t address, uint64_t size, uint32_t permissions) {
  Impl::Use use(impl_.get());
  use->check_lanes(lanes, "protect");
  use->check_memory(lanes, "protect");
  auto [page, count] = use->pages(address, size, "protect");
  if (!lanes.empty()) use.backend().protect(lanes, page, count, use->allowed(permissions));
}

void Fleet::permissions(std::span<const uint32_t> lanes, uint64_t address, uint64_t size,
                        std::span<uint8_t> pages) const {
  Impl::Use use(impl_.get());
  use->check_lanes(lanes, "permissions");
  use->check_memory(lanes, "permissions");
  auto [page, count] = use->pages(address, size, "permissions");
  if (pages.size() != lanes.size() * count) {
    throw ArgumentError("permissions: the buffer has room for " + std::to_string(pages.size()) + " pages, but " +
                        std::to_string(lanes.size()) + " lanes have " + std::to_string(count) +
                        " each; give a byte for each page of each lane");
  }
  if (!lanes.empty()) use.backend().permissions(lanes, page, count, pages);
}

void Fleet::release_memory(std::span<const uint32_t> lanes) {
  Impl::Use use(impl_.get());
  const std::vector<u32> rising = use->distinct(lanes, "release_memory");
  if (!rising.empty()) use.backend().release_memory(rising);
}

bool Fleet::takes_inputs() const { return Impl::Use(impl_.get()).backend().takes_inputs(); }

void Fleet::work_off(const Snapshot& beginning, const InputRun& run) {
  Impl::Use use(impl_.get());
  if (!use.backend().takes_inputs()) {
    throw StateError("the lanes of this fleet cannot take inputs by themselves; restart() them");
  }
  const Snapshot::Impl& kept = use->own(beginning);
  if (kept.lanes.size() != use->options.lanes) {
    throw ArgumentError("work_off: the snapshot has " + std::to_string(kept.lanes.size()) + " of the fleet's " +
                        std::to_string(use->options.lanes) + " lanes; give one of all");
  }
  InputRun checked = run;
  checked.next = [&run](InputBatch& batch, bool idle) {
    const Supply supply = run.next(batch, idle);
    if (supply == Supply::input) check_batch(batch);
    return supply;
  };
  use->forget_stops();
  try {
    use.backend().work_off(*kept.number, checked);
  } catch (const DeviceError& error) {
    std::lock_guard lock(use->mutex);
    use->device_failure = error.what();
    throw;
  }
}

void Fleet::process_inputs_changed(std::span<const uint32_t> lanes) {
  Impl::Use use(impl_.get());
  use->check_lanes(lanes, "process_inputs_changed");
  if (!lanes.empty()) use.backend().process_inputs_changed(lanes);
}

uint64_t Fleet::pool_used() const { return Impl::Use(impl_.get()).backend().pool_used(); }
uint64_t Fleet::pool_size() const { return Impl::Use(impl_.get()).backend().pool_size(); }
void Fleet::grow_pool(uint64_t bytes) {
  Impl::Use use(impl_.get());
  constexpr uint64_t kMost =
      uint64_t{1} << (32 - kPageFlagBits + kPageBits);  // as much as the frame numbers of a page table can address
  if (bytes > kMost) {
    throw DeviceError("a pool of " + std::to_string(bytes >> 20) + " MiB is not possible; ask for at most " +
                      std::to_string(kMost >> 20) + " MiB");
  }
  use.backend().grow_pool(bytes);
}

ArrayView Fleet::view(Field field) {
  Impl::Use use(impl_.get());
  Impl::check_field(field);
  use->counts_exported |= field == Field::instructions;
  return use.backend().view(field);
}
ArrayView Fleet::memory_view() {
  Impl::Use use(impl_.get());
  const MemoryPolicy policy = use->options.memory_policy;
  if (policy != MemoryPolicy::shared && policy != MemoryPolicy::device_shared) {
    throw StateError(
        "the memory of this fleet is paged and has no view; make the fleet with memory policy shared or device_shared");
  }
  return use.backend().memory_view();
}

}  // namespace myriarm
