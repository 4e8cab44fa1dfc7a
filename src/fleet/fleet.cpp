// SPDX-License-Identifier: Apache-2.0
// The fleet: checks what the caller gives and passes it on to a backend in batches.
#include "myriarm/fleet.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>

#include "backends/backend.h"
#include "core/system/registers.h"
#include "fleet/image.h"

namespace myriarm {

static_assert(sizeof(Stop) == sizeof(StopRecord), "a stop record is a Stop");
static_assert(static_cast<int>(StopReason::exited) == static_cast<int>(StopCode::exited), "same order");
static_assert(static_cast<int>(FaultKind::alignment) == static_cast<int>(FaultCode::alignment), "same order");

const char* name(StopReason reason) {
  switch (reason) {
    case StopReason::none: return "none";
    case StopReason::halt: return "halt";
    case StopReason::syscall: return "syscall";
    case StopReason::breakpoint: return "breakpoint";
    case StopReason::budget: return "budget";
    case StopReason::fault: return "fault";
    case StopReason::undefined: return "undefined";
    case StopReason::out_of_memory: return "out_of_memory";
    case StopReason::cancelled: return "cancelled";
    case StopReason::exited: return "exited";
  }
  return "unknown";
}

const char* name(FaultKind kind) {
  switch (kind) {
    case FaultKind::none: return "none";
    case FaultKind::unmapped: return "unmapped";
    case FaultKind::read: return "read";
    case FaultKind::write: return "write";
    case FaultKind::execute: return "execute";
    case FaultKind::alignment: return "alignment";
  }
  return "unknown";
}

struct Fleet::Impl {
  FleetOptions options;
  Device device;
  u64 window_begin = 0, window_pages = 0;
  std::unique_ptr<Backend> backend;
  mutable std::vector<Stop> stops;
  mutable bool stops_current = false;

  void check_lanes(std::span<const uint32_t> lanes, const char* what) const {
    for (uint32_t lane : lanes) {
      if (lane >= options.lanes) {
        throw ArgumentError(std::string(what) + ": there is no lane " + std::to_string(lane) + "; the fleet has " +
                            std::to_string(options.lanes));
      }
    }
  }
  void check_transfers(std::span<const Transfer> transfers, size_t buffer, size_t done, const char* what) const {
    if (done != 0 && done != transfers.size()) {
      throw ArgumentError(std::string(what) + ": done has " + std::to_string(done) + " elements for " +
                          std::to_string(transfers.size()) + " transfers");
    }
    for (const Transfer& t : transfers) {
      if (t.lane >= options.lanes) check_lanes({&t.lane, 1}, what);
      if (t.offset > buffer || t.size > buffer - t.offset) {
        throw ArgumentError(std::string(what) + ": a transfer of " + std::to_string(t.size) + " bytes at offset " +
                            std::to_string(t.offset) + " is outside the buffer of " + std::to_string(buffer));
      }
    }
  }
  static void check_field(Field field) {
    if (field >= Field::count) throw ArgumentError("there is no field " + std::to_string(static_cast<unsigned>(field)));
  }
  /// What a register keeps of a value: no engine ever sees a bit that the register does not have.
  static u64 legal(Field field, u64 value) {
    switch (field) {
      case Field::nzcv: return value & 15;
      case Field::fpcr: return value & kFpcrMask;
      case Field::fpsr: return value & kFpsrMask;
      default: return value;
    }
  }
  void scatter(Field field, std::span<const uint32_t> lanes, std::span<const uint64_t> values) const {
    if (legal(field, ~u64{0}) == ~u64{0}) return backend->scatter(field, lanes, values);
    std::vector<uint64_t> kept(values.begin(), values.end());
    for (uint64_t& value : kept) value = legal(field, value);
    backend->scatter(field, lanes, kept);
  }
  static void check_size(size_t have, size_t want, const char* what) {
    if (have != want) {
      throw ArgumentError(std::string(what) + ": " + std::to_string(have) + " values for " + std::to_string(want) +
                          " lanes");
    }
  }
  /// Pages of the window, or an ArgumentError.
  std::pair<u64, u64> pages(uint64_t address, uint64_t size, const char* what) const {
    u64 bytes = window_pages << kPageBits;
    if (address % kPageSize || size % kPageSize || size == 0) {
      throw ArgumentError(std::string(what) + ": address and size must be multiples of 4096, and size not 0");
    }
    if (address < window_begin || address - window_begin >= bytes || size > bytes - (address - window_begin)) {
      throw ArgumentError(std::string(what) + ": the range is not inside the guest's address window");
    }
    return {(address - window_begin) >> kPageBits, size >> kPageBits};
  }
};

namespace {

/// The backend for a device name; fills in what was chosen.
std::unique_ptr<Backend> make_backend(const Image& image, const FleetOptions& options, Device& chosen) {
  const std::string& id = options.device;
  if (id == "cpu") {  // asks no other device: a driver takes far longer than all the rest
    chosen = cpu_device();
    return make_cpu_backend(image, options);
  }
  std::vector<Device> all = devices();
  if (id == "auto") {
    chosen = all.size() > 1 ? all[1] : all[0];
  } else if (id == "cuda" || id.starts_with("cuda:")) {
    std::string wanted = id == "cuda" ? "cuda:0" : id;
    auto found = std::find_if(all.begin(), all.end(), [&](const Device& device) { return device.id == wanted; });
    if (found == all.end()) {
      std::string reason = cuda_unavailable_reason();
      throw DeviceError(
          "device " + id + " is not there: " +
          (reason.empty() ? "this machine has " + std::to_string(all.size() - 1) + " CUDA device(s)" : reason) +
          "; use --device cpu or auto");
    }
    chosen = *found;
  } else {
    throw ArgumentError("device \"" + id + "\" is unknown; use auto, cpu, cuda or cuda:N");
  }
#if MYRIARM_CUDA
  if (chosen.id != "cpu") return make_cuda_backend(image, options, std::stoi(chosen.id.substr(5)));
#endif
  return make_cpu_backend(image, options);
}

}  // namespace

Fleet::Fleet(const Program& program, const FleetOptions& options) : impl_(std::make_unique<Impl>()) {
  if (options.lanes == 0) throw ArgumentError("a fleet of zero lanes cannot run; ask for at least 1");
  if (options.lanes > (uint64_t{1} << 24)) {
    throw ArgumentError(std::to_string(options.lanes) + " lanes are too many; ask for at most 16777216");
  }
  impl_->options = options;
  const Image image = make_image(program, options.memory, options.lanes);
  impl_->window_begin = image.window_begin;
  impl_->window_pages = image.window_pages;
  impl_->backend = make_backend(image, options, impl_->device);
}
Fleet::~Fleet() = default;
Fleet::Fleet(Fleet&&) noexcept = default;
Fleet& Fleet::operator=(Fleet&&) noexcept = default;

uint64_t Fleet::lanes() const { return impl_->options.lanes; }
const Device& Fleet::device() const { return impl_->device; }
const char* Fleet::engine() const { return impl_->backend->engine(); }
uint64_t Fleet::memory_begin() const { return impl_->window_begin; }
uint64_t Fleet::memory_end() const { return impl_->window_begin + (impl_->window_pages << kPageBits); }

RunResult Fleet::run(const RunOptions&) {
  auto start = std::chrono::steady_clock::now();
  impl_->stops_current = false;
  RunResult result;
  result.instructions = impl_->backend->run({.go_on = false}).retired;
  impl_->backend->clear_cancel();
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  for (const StopRecord& stop : impl_->backend->stops()) result.stopped += stop.code != StopCode::none;
  return result;
}
void Fleet::cancel() { impl_->backend->cancel(); }

std::span<const Stop> Fleet::stops() const {
  if (!impl_->stops_current) {
    std::span<const StopRecord> records = impl_->backend->stops();
    impl_->stops.resize(records.size());
    for (size_t i = 0; i < records.size(); i++) {
      impl_->stops[i] = {static_cast<StopReason>(records[i].code), static_cast<FaultKind>(records[i].fault),
                         records[i].detail, records[i].address};
    }
    impl_->stops_current = true;
  }
  return impl_->stops;
}

void Fleet::resume(std::span<const uint32_t> lanes) {
  impl_->check_lanes(lanes, "resume");
  if (lanes.empty()) return;
  impl_->stops_current = false;
  impl_->backend->scatter_stops(lanes, std::vector<StopRecord>(lanes.size()));
}
void Fleet::resume_all() {
  impl_->stops_current = false;
  impl_->backend->scatter_stops({}, std::vector<StopRecord>(lanes()));
}
void Fleet::set_stops(std::span<const uint32_t> lanes, std::span<const Stop> stops) {
  impl_->check_lanes(lanes, "set_stops");
  Impl::check_size(stops.size(), lanes.size(), "set_stops");
  if (lanes.empty()) return;
  std::vector<StopRecord> records;
  for (const Stop& stop : stops) {
    records.push_back(
        {static_cast<StopCode>(stop.reason), static_cast<FaultCode>(stop.fault), 0, stop.detail, stop.address});
  }
  impl_->stops_current = false;
  impl_->backend->scatter_stops(lanes, records);
}

void Fleet::get(Field field, std::span<const uint32_t> lanes, std::span<uint64_t> values) const {
  Impl::check_field(field);
  impl_->check_lanes(lanes, "get");
  Impl::check_size(values.size(), lanes.size(), "get");
  if (!lanes.empty()) impl_->backend->gather(field, lanes, values);
}
void Fleet::set(Field field, std::span<const uint32_t> lanes, std::span<const uint64_t> values) {
  Impl::check_field(field);
  impl_->check_lanes(lanes, "set");
  Impl::check_size(values.size(), lanes.size(), "set");
  if (!lanes.empty()) impl_->scatter(field, lanes, values);
}
void Fleet::get_all(Field field, std::span<uint64_t> values) const {
  Impl::check_field(field);
  Impl::check_size(values.size(), lanes(), "get_all");
  impl_->backend->gather(field, {}, values);
}
void Fleet::set_all(Field field, std::span<const uint64_t> values) {
  Impl::check_field(field);
  Impl::check_size(values.size(), lanes(), "set_all");
  impl_->scatter(field, {}, values);
}
void Fleet::fill(Field field, uint64_t value) {
  Impl::check_field(field);
  impl_->backend->fill(field, Impl::legal(field, value));
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
  impl_->check_transfers(transfers, buffer.size(), done.size(), "read");
  if (!transfers.empty()) impl_->backend->read(transfers, buffer, done);
}
void Fleet::write(std::span<const Transfer> transfers, std::span<const uint8_t> buffer, std::span<uint32_t> done) {
  impl_->check_transfers(transfers, buffer.size(), done.size(), "write");
  if (transfers.empty() || impl_->backend->write(transfers, buffer, done)) return;
  throw DeviceError("the pool of " + std::to_string(pool_size() >> 20) +
                    " MiB for written pages is spent; grow it or make the fleet with a larger pool");
}

namespace {
/// Transfers of one lane are as large as a uint32_t allows.
template <class Each>
void split(uint32_t lane, uint64_t address, uint64_t size, Each each) {
  constexpr uint64_t kMost = uint64_t{1} << 30;
  for (uint64_t at = 0; at < size; at += kMost) {
    Transfer transfer{lane, static_cast<uint32_t>(std::min(kMost, size - at)), address + at, at};
    uint32_t done = 0;
    each(transfer, std::span(&done, 1));
    if (done != transfer.size) {
      throw ArgumentError("lane " + std::to_string(lane) + " has no memory at address " +
                          std::to_string(address + at + done));
    }
  }
}
}  // namespace

std::vector<uint8_t> Fleet::read(uint32_t lane, uint64_t address, uint64_t size) const {
  if (size > memory_end() - memory_begin())
    throw ArgumentError("read: " + std::to_string(size) + " bytes are more than the guest's memory");
  std::vector<uint8_t> bytes(size);
  split(lane, address, size, [&](const Transfer& t, std::span<uint32_t> done) { read(std::span(&t, 1), bytes, done); });
  return bytes;
}
void Fleet::write(uint32_t lane, uint64_t address, std::span<const uint8_t> bytes) {
  split(lane, address, bytes.size(),
        [&](const Transfer& t, std::span<uint32_t> done) { write(std::span(&t, 1), bytes, done); });
}

void Fleet::map(std::span<const uint32_t> lanes, uint64_t address, uint64_t size, uint32_t permissions) {
  impl_->check_lanes(lanes, "map");
  auto [page, count] = impl_->pages(address, size, "map");
  if (!lanes.empty()) impl_->backend->map(lanes, page, count, permissions & (kRead | kWrite | kExecute));
}
void Fleet::protect(std::span<const uint32_t> lanes, uint64_t address, uint64_t size, uint32_t permissions) {
  impl_->check_lanes(lanes, "protect");
  auto [page, count] = impl_->pages(address, size, "protect");
  if (!lanes.empty()) impl_->backend->protect(lanes, page, count, permissions & (kRead | kWrite | kExecute));
}

uint64_t Fleet::pool_used() const { return impl_->backend->pool_used(); }
uint64_t Fleet::pool_size() const { return impl_->backend->pool_size(); }
void Fleet::grow_pool(uint64_t bytes) {
  constexpr uint64_t kMost =
      uint64_t{1} << (32 - kPageFlagBits + kPageBits);  // what the frame numbers of a page table reach
  if (bytes > kMost) {
    throw DeviceError("a pool of " + std::to_string(bytes >> 20) + " MiB cannot be made; ask for at most " +
                      std::to_string(kMost >> 20) + " MiB");
  }
  impl_->backend->grow_pool(bytes);
}

}  // namespace myriarm
