// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/cuda_backend.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <numeric>

#include "backends/cuda/process/common_pages.h"
#include "myriarm/error.h"
#include "support/text.h"

namespace myriarm::cuda {
namespace {

constexpr u64 kMiB = u64{1} << 20;
/// The most bytes that frame numbers of page-table entries can address.
constexpr u64 kMostFrameBytes = u64{1} << (32 - kPageFlagBits + kPageBits);
/// Frames for each team at the start if the pool is automatic; the pool grows when more are needed.
constexpr u64 kFirstFrames = 4;

Stream make_stream() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a CUDA stream");
  return Stream(stream);
}

u64 lanes_of(const Image& image) {
  u64 lanes = 0;
  for (const ImageProgram& program : image.programs) lanes += program.lanes;
  return lanes;
}

/// Words in front of the entries of each page table.
u32 table_front(const Image& image) { return image.kernel_pages != 0 ? kTableFront : 0; }

u64 content_pages(const Image& image) {
  u64 pages = 0;
  for (const ImageProgram& program : image.programs) {
    for (const ImagePage& page : program.pages) pages += !page.bytes.empty();
  }
  return pages;
}

/// Whether each lane is the one after the lane before it: then their values lie together in a plane.
bool are_consecutive(std::span<const u32> lanes) {
  for (size_t i = 1; i < lanes.size(); i++) {
    if (lanes[i] != lanes[0] + i) return false;
  }
  return true;
}

}  // namespace

CudaBackend::CudaBackend(const Image& image, const FleetOptions& options, int device)
    : device_(device),
      lanes_(lanes_of(image)),
      policy_(options.memory_policy),
      pool_is_automatic_(options.pool == 0),
      compile_threads_(options.compile_threads),
      caches_translation_(options.translation_cache),
      engine_(options.engine),
      stops_(lanes_) {
  use();
  if (image.window_pages + image.kernel_pages >= u64{1} << 20) {
    throw ArgumentError(
        "memory of " + std::to_string(image.window_pages >> 8) + " MiB a lane, and " +
        std::to_string(image.kernel_pages >> 8) +
        " MiB for its files and pipes, are too much for a CUDA device; ask for less than 4096 MiB together");
  }
  multiprocessors_ = multiprocessors_of(device);
  own_stream_ = make_stream();
  stream_ = own_stream_.get();
  view_.lanes = lanes_;
  view_.plane_bytes = static_cast<u32>(lanes_ * sizeof(u64));
  view_.teams = static_cast<u32>((lanes_ + kTeam - 1) / kTeam);
  view_.table_count = view_.teams;
  without_memory_.resize(view_.teams);
  view_.window_begin = image.window_begin;
  view_.first_page = image.window_begin >> kPageBits;
  view_.page_count = image.window_pages + image.kernel_pages;
  view_.guest_pages = image.window_pages;
  view_.window_bytes = image.window_pages << kPageBits;
  view_.slices = PageSlices(view_.page_count, view_.guest_pages);
  // So that the words of a split, one for each lane, are one line of the cache in every table.
  view_.table_step = (table_front(image) + view_.page_count + kSplitLanes - 1) / kSplitLanes * kSplitLanes;

  allocate_state(table_front(image));
  if (image.kernel_pages != 0) {
    processes_.emplace(image, options.processes, lanes_, stream_);
    view_.processes = processes_->view();
  }
  image_units_ = kFirstImageUnit + content_pages(image);
  if (policy_ == MemoryPolicy::shared || policy_ == MemoryPolicy::device_shared) {
    allocate_flat_memory();
  } else {
    allocate_frames(options.pool);
    if (processes_) {
      grow_splits(view_.teams, "allocating page tables");
      show_splits();
    }
  }
  load_image(image);
  fill(Field::limit, ~u64{0});
  const u64 open = kMonitorOpen;
  values_.resize(1, "allocating call arguments");
  values_.upload(std::span(&open, 1), stream_);
  launch_scatter(view_.state + kPlaneMonitor * lanes_, nullptr, lanes_, values_.data(), 0, stream_);
  synchronize("starting the fleet");
}

CudaBackend::~CudaBackend() { cudaSetDevice(device_); }

void CudaBackend::allocate_state(u32 front) {
  auto zeros = [&](auto& array, u64 count, const char* what) {
    array.resize(count, what);
    check(cudaMemsetAsync(array.data(), 0, array.bytes(), stream_), what);
    return array.data();
  };
  view_.state = zeros(state_, kPlaneCount * lanes_, "allocating lane state");
  view_.stops = zeros(device_stops_, lanes_, "allocating stops");
  view_.vectors = zeros(vectors_, 64 * lanes_, "allocating vector registers");
  view_.tables = zeros(tables_, view_.teams * view_.table_step, "allocating page tables") + front;
  view_.team_frames = zeros(team_frames_, view_.teams, "allocating page tables");
  view_.touched = zeros(touched_, view_.teams, "allocating page tables");
  view_.code_state = zeros(code_state_, view_.teams, "allocating the teams' code");
  view_.code_ran = zeros(code_ran_, view_.teams, "allocating the teams' code");
  view_.page_history = zeros(page_history_, u64{view_.teams} * kCodeSlots, "allocating the teams' code");
  view_.decoded_words = zeros(decoded_words_, kDecodedWords, "allocating decode tables");
  view_.code_slots = zeros(code_slots_, u64{view_.teams} * kCodeSlots, "allocating the teams' code");
  view_.pool = zeros(device_pool_, 1, "allocating the pool's state");
  view_.control = zeros(control_, 1, "allocating the run's state");
  view_.report = zeros(report_, 1, "allocating the run's state");
  page_changes_.resize(1, "allocating call results");
  host_report_.resize(1, "allocating the run's state");
  host_control_.resize(1, "allocating the run's state");
  cancel_.resize(1, "allocating the cancel flag");
  progress_.resize(lanes_, "allocating the lanes' progress");
  codes_.resize(lanes_, "allocating the lanes' progress");
  *cancel_.data() = 0;
  std::memset(progress_.data(), 0, lanes_ * sizeof(u64));
  std::memset(codes_.data(), 0, lanes_);
  view_.cancel = cancel_.data();
  view_.progress = progress_.data();
  view_.codes = codes_.data();
}

void CudaBackend::grow_splits(u64 tables, const char* what) {
  splits_.grow(tables * kSplits, what, stream_);
  wanted_groups_.grow(tables, what, stream_);
  group_code_.grow(tables, what, stream_);
}
void CudaBackend::show_splits() {
  view_.processes.splits = splits_.data();
  view_.wanted_groups = wanted_groups_.data();
  view_.group_code = group_code_.data();
}

void CudaBackend::allocate_frames(u64 pool_bytes) {
  // If a fleet has fewer lanes than a team, its frames have room for these lanes only.
  view_.granule_step = static_cast<u32>(std::min<u64>(lanes_, kTeam));
  view_.lane_step = 8;
  view_.frame_units = view_.granule_step + 1;
  const u64 frame_bytes = u64{view_.frame_units} << kPageBits;
  // The most that frames can take: what the device has free, less the image, the files of a root, and a margin for the
  // driver.
  size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "asking for free device memory");
  const u64 kept_free = 512 * kMiB, room = free > kept_free ? free - kept_free : 0;
  // Pages that lanes map of a file are those of all lanes: so files lie among the units.
  const u64 contents = processes_ ? processes_->most_contents() : 0;
  const bool has_common_pages = processes_ && view_.processes.tree != nullptr;
  const u64 common_bytes = has_common_pages ? u64{kCommonUnits} << kPageBits : 0;
  const u64 units_bytes = (image_units_ << kPageBits) + contents + common_bytes;
  pool_limit_ = std::min<u64>(room > units_bytes ? room - units_bytes : 0, kMostFrameBytes - units_bytes);
  if (pool_bytes > pool_limit_) {
    throw DeviceError("a pool of " + std::to_string(pool_bytes >> 20) + " MiB is more than the device has free (" +
                      std::to_string(pool_limit_ >> 20) + " MiB); ask for a smaller one");
  }
  // Addresses for all memory of the device, so that the pool can still grow when other programs have freed some.
  frames_.emplace(device_, std::min<u64>(units_bytes + total, kMostFrameBytes));
  const u64 most_frames = std::min<u64>(total, kMostFrameBytes) / frame_bytes + 1;
  free_frames_.resize(most_frames, "allocating the list of free frames");
  frame_holders_.resize(most_frames, "allocating the holders of frames");
  view_.frames = frames_->data();
  view_.free_frames = free_frames_.data();
  view_.frame_holders = frame_holders_.data();
  if (!frames_->grow(units_bytes)) {
    throw DeviceError(
        "the device has no room for the program's image and the files of its root; use another one, or free memory");
  }
  if (processes_) processes_->use_area(view_.frames + (image_units_ << kPageBits));
  const u32 first_unit = static_cast<u32>(units_bytes >> kPageBits);
  if (has_common_pages) {
    u8* const table = view_.frames + units_bytes - common_bytes;
    check(cudaMemsetAsync(table, 0, kCommonPages * sizeof(CommonPage), stream_), "allocating pages in common");
  }
  Pool pool{first_unit, first_unit, first_unit, 0};
  device_pool_.upload(std::span(&pool, 1), stream_);
  const u64 first_pool =
      pool_is_automatic_ ? std::max(view_.teams * kFirstFrames * frame_bytes, 64 * kMiB) : pool_bytes;
  if (!back_pool(std::min(first_pool, pool_limit_))) {
    throw DeviceError("the device has no room for a pool of " + std::to_string(first_pool >> 20) +
                      " MiB; ask for fewer lanes");
  }
}

void CudaBackend::allocate_flat_memory() {
  const u64 window = view_.page_count << kPageBits, bytes = lanes_ * window + kPageSize;
  if (lanes_ > 1 && window > 128 * kMiB) {
    throw ArgumentError("memory of " + std::to_string(window >> 20) +
                        " MiB a lane is too much for shared memory of several lanes on a CUDA device; ask for at most "
                        "128 MiB");
  }
  if (bytes > kMostFrameBytes) {
    throw ArgumentError(std::to_string(bytes >> 20) + " MiB of shared memory are too much; ask for at most " +
                        std::to_string(kMostFrameBytes >> 20) + " MiB");
  }
  view_.granule_step = 1;
  view_.lane_step = window;
  view_.frame_units = 1;
  flat_permissions_.resize(view_.teams * view_.page_count * kTeam, "allocating permissions");
  check(cudaMemsetAsync(flat_permissions_.data(), 0, flat_permissions_.bytes(), stream_), "allocating permissions");
  view_.flat_permissions = flat_permissions_.data();
  if (policy_ == MemoryPolicy::shared) {
    pinned_memory_.resize(bytes, "allocating pinned memory for the lanes");
    view_.frames = pinned_memory_.data();
  } else {
    flat_memory_.resize(bytes, "allocating memory for the lanes");
    view_.frames = flat_memory_.data();
  }
  check(cudaMemsetAsync(view_.frames, 0, bytes, stream_), "clearing the lanes' memory");
}

u64* CudaBackend::plane(Field field) {
  if (field >= Field::v0_low) {
    return vectors_.data() + (static_cast<u64>(field) - static_cast<u64>(Field::v0_low)) * lanes_;
  }
  return state_.data() + static_cast<u64>(field) * lanes_;
}
static_assert(static_cast<u32>(Field::sp) == kPlaneSp && static_cast<u32>(Field::pc) == kPlanePc &&
                  static_cast<u32>(Field::nzcv) == kPlaneNzcv && static_cast<u32>(Field::tpidr) == kPlaneTpidr &&
                  static_cast<u32>(Field::fpcr) == kPlaneFpcr && static_cast<u32>(Field::fpsr) == kPlaneFpsr &&
                  static_cast<u32>(Field::instructions) == kPlaneInstructions &&
                  static_cast<u32>(Field::limit) == kPlaneLimit,
              "planes are in the order of Field");

const u32* CudaBackend::upload_lanes(std::span<const u32> lanes) {
  if (lanes.empty()) return nullptr;
  lane_numbers_.resize(lanes.size(), "allocating call arguments");
  lane_numbers_.upload(lanes, stream_);
  return lane_numbers_.data();
}

void CudaBackend::scatter_stops(std::span<const u32> lanes, std::span<const StopRecord> stops) {
  use();
  stop_values_.resize(stops.size(), "allocating call arguments");
  stop_values_.upload(stops, stream_);
  const u32* numbers = upload_lanes(lanes);
  launch_scatter_stops(view_, numbers, stops.size(), stop_values_.data(), stream_);
  synchronize("setting stops");
  for (size_t i = 0; i < stops.size(); i++) {
    const size_t lane = lanes.empty() ? i : lanes[i];
    if (stops_are_current_) stops_[lane] = stops[i];
    std::atomic_ref(codes_.data()[lane]).store(stops[i].code, std::memory_order_relaxed);
  }
}

void CudaBackend::gather(Field field, std::span<const u32> lanes, std::span<u64> values) {
  use();
  const u64* from = plane(field);
  if (are_consecutive(lanes)) {
    if (!lanes.empty()) from += lanes[0];
  } else {
    values_.resize(values.size(), "allocating call results");
    launch_gather(from, upload_lanes(lanes), lanes.size(), values_.data(), stream_);
    from = values_.data();
  }
  check(cudaMemcpyAsync(values.data(), from, values.size_bytes(), cudaMemcpyDeviceToHost, stream_),
        "fetching lane state");
  synchronize("fetching lane state");
}

void CudaBackend::scatter(Field field, std::span<const u32> lanes, std::span<const u64> values) {
  use();
  u64* to = plane(field);
  if (are_consecutive(lanes)) {
    if (!lanes.empty()) to += lanes[0];
    check(cudaMemcpyAsync(to, values.data(), values.size_bytes(), cudaMemcpyHostToDevice, stream_),
          "setting lane state");
  } else {
    values_.resize(values.size(), "allocating call arguments");
    values_.upload(values, stream_);
    launch_scatter(to, upload_lanes(lanes), values.size(), values_.data(), 1, stream_);
  }
  synchronize("setting lane state");
  if (field == Field::instructions) mirror_progress();
}

void CudaBackend::fill(Field field, u64 value) {
  use();
  u64* to = plane(field);
  values_.resize(1, "allocating call arguments");
  values_.upload(std::span(&value, 1), stream_);
  launch_scatter(to, nullptr, lanes_, values_.data(), 0, stream_);
  synchronize("setting lane state");
  if (field == Field::instructions) mirror_progress();
}

ArrayView CudaBackend::view(Field field) {
  use();
  u64* data = plane(field);
  synchronize("clearing vector registers");
  exported_ = true;
  return {data, sizeof(u64), DeviceKind::cuda, static_cast<u32>(device_)};
}

ArrayView CudaBackend::memory_view() {
  if (!is_flat(view_)) return {};
  exported_ = true;
  ArrayView memory{view_.frames + kPageSize, static_cast<i64>(view_.lane_step)};
  if (policy_ != MemoryPolicy::shared) {  // else it is pinned memory of the host
    memory.device = DeviceKind::cuda;
    memory.ordinal = static_cast<u32>(device_);
  }
  return memory;
}

void CudaBackend::read(std::span<const Transfer> transfers, std::span<u8> buffer, std::span<u32> done) {
  use();
  transfers_.resize(transfers.size(), "allocating call arguments");
  transfers_.upload(transfers, stream_);
  buffer_.resize(std::max<u64>(buffer.size(), 1), "allocating a transfer buffer");
  // Where a page is not mapped, the caller's bytes stay.
  buffer_.upload(std::span<const u8>(buffer), stream_);
  done_.resize(transfers.size(), "allocating call results");
  launch_read(view_, transfers_.data(), transfers.size(), buffer_.data(), done_.data(), stream_);
  check(cudaMemcpyAsync(buffer.data(), buffer_.data(), buffer.size(), cudaMemcpyDeviceToHost, stream_),
        "reading guest memory");
  if (!done.empty()) {
    check(cudaMemcpyAsync(done.data(), done_.data(), done.size_bytes(), cudaMemcpyDeviceToHost, stream_),
          "reading guest memory");
  }
  synchronize("reading guest memory");
}

bool CudaBackend::write(std::span<const Transfer> transfers, std::span<const u8> buffer, std::span<u32> done) {
  use();
  transfers_.resize(transfers.size(), "allocating call arguments");
  buffer_.resize(std::max<u64>(buffer.size(), 1), "allocating a transfer buffer");
  buffer_.upload(buffer, stream_);
  const auto prepare = [&](std::span<const Transfer> some) {
    transfers_.upload(some, stream_);
    launch_prepare_write(view_, transfers_.data(), some.size(), page_changes_.data(), stream_);
  };
  PageChanges changes = {};
  do {
    check(cudaMemsetAsync(page_changes_.data(), 0, sizeof changes, stream_), "writing guest memory");
    if (!spaces_) {
      prepare(transfers);
    } else {
      for (const std::vector<Transfer>& round : rounds_of(transfers)) prepare(round);
    }
    check(cudaMemcpyAsync(&changes, page_changes_.data(), sizeof changes, cudaMemcpyDeviceToHost, stream_),
          "writing guest memory");
    synchronize("writing guest memory");
    host_wrote_code_ |= changes.code_changed != 0;
  } while (changes.pool_spent != 0 && make_room());
  transfers_.upload(transfers, stream_);
  done_.resize(transfers.size(), "allocating call results");
  launch_write(view_, transfers_.data(), transfers.size(), buffer_.data(), done_.data(), stream_);
  if (!done.empty()) {
    check(cudaMemcpyAsync(done.data(), done_.data(), done.size_bytes(), cudaMemcpyDeviceToHost, stream_),
          "writing guest memory");
  }
  synchronize("writing guest memory");
  return changes.pool_spent == 0;
}

void CudaBackend::write_later(std::span<const Transfer> transfers, std::span<const u8> buffer) {
  if (!write(transfers, buffer, {})) refuse_full_pool();
}

void CudaBackend::release_memory(std::span<const u32> lanes) {
  if (is_flat(view_)) return;  // it was allocated for all lanes, and the host may hold views of it
  use();
  forget_spaces(lanes);
  std::vector<u32> ended;  // teams that have no lane with memory any more
  for (u32 lane : lanes) {
    u32& released = without_memory_[team_of(lane)];
    const u32 before = released;
    released |= 1u << place_of(lane);
    if (released != before && released == present(team_of(lane))) ended.push_back(team_of(lane));
  }
  if (ended.empty()) return;
  const std::vector<u64> touched = fetch_touched();
  // Only slices that the team has changed have frames of its own.
  std::vector<TeamMask> masks;
  for (u32 slice = 0; slice < PageSlices::kMost; slice++) {
    masks.clear();
    for (u32 team : ended) {
      if (touched[team] >> slice & 1) masks.push_back({team, present(team)});
    }
    if (masks.empty()) continue;
    const u64 first = view_.slices.first(slice);
    change_pages(masks, first, view_.slices.end(slice) - first, 0, kernel::PageAction::unmap);
  }
}

std::vector<u64> CudaBackend::fetch_touched() {
  std::vector<u64> touched(view_.teams);
  check(cudaMemcpyAsync(touched.data(), touched_.data(), view_.teams * sizeof(u64), cudaMemcpyDeviceToHost, stream_),
        "looking for changed pages");
  synchronize("looking for changed pages");
  return touched;
}

void CudaBackend::change_pages(std::span<const u32> lanes, u64 page, u64 count, u32 permissions,
                               kernel::PageAction action) {
  if (spaces_) return change_pages_in_tables(lanes, page, count, permissions, action);
  std::vector<TeamMask> masks;
  if (lanes.empty()) {
    for (u32 team = 0; team < view_.teams; team++) masks.push_back({team, ~0u});
  } else {
    std::map<u32, u32> by_team;
    for (u32 lane : lanes) by_team[team_of(lane)] |= 1u << place_of(lane);
    for (auto [team, mask] : by_team) masks.push_back({team, mask});
  }
  change_pages(masks, page, count, permissions, action);
}

void CudaBackend::change_pages(std::span<const TeamMask> masks, u64 page, u64 count, u32 permissions,
                               kernel::PageAction action) {
  use();
  differing_pages_.may_differ();
  team_masks_.resize(masks.size(), "allocating call arguments");
  team_masks_.upload(masks, stream_);
  PageChanges changes = {};
  do {
    // The kernel runs again after the pool has grown; doing a page twice changes nothing.
    check(cudaMemsetAsync(page_changes_.data(), 0, sizeof changes, stream_), "changing guest pages");
    launch_map(view_, team_masks_.data(), masks.size(), page, count, permissions, action, page_changes_.data(),
               stream_);
    check(cudaMemcpyAsync(&changes, page_changes_.data(), sizeof changes, cudaMemcpyDeviceToHost, stream_),
          "changing guest pages");
    synchronize("changing guest pages");
    host_wrote_code_ |= changes.code_changed != 0;
  } while (changes.pool_spent != 0 && make_room());
  if (changes.pool_spent != 0) refuse_full_pool();
}
void CudaBackend::refuse_full_pool() {
  throw DeviceError("the pool of " + std::to_string(pool_size() >> 20) +
                    " MiB for written pages is full; grow it or make the fleet with a larger pool");
}
void CudaBackend::map(std::span<const u32> lanes, u64 page, u64 count, u32 permissions) {
  change_pages(lanes, page, count, permissions, kernel::PageAction::map);
}
void CudaBackend::unmap(std::span<const u32> lanes, u64 page, u64 count) {
  change_pages(lanes, page, count, 0, kernel::PageAction::unmap);
}
void CudaBackend::protect(std::span<const u32> lanes, u64 page, u64 count, u32 permissions) {
  change_pages(lanes, page, count, permissions, kernel::PageAction::protect);
}

void CudaBackend::permissions(std::span<const u32> lanes, u64 page, u64 count, std::span<u8> values) {
  use();
  buffer_.resize(values.size(), "allocating call results");
  launch_permissions(view_, upload_lanes(lanes), values.size() / count, page, count, buffer_.data(), stream_);
  check(cudaMemcpyAsync(values.data(), buffer_.data(), values.size(), cudaMemcpyDeviceToHost, stream_),
        "asking for permissions");
  synchronize("asking for permissions");
}

Pool CudaBackend::pool() {
  use();
  Pool pool;
  check(cudaMemcpyAsync(&pool, device_pool_.data(), sizeof pool, cudaMemcpyDeviceToHost, stream_),
        "asking for the pool's state");
  synchronize("asking for the pool's state");
  return pool;
}
u64 CudaBackend::pool_used() {
  if (is_flat(view_)) return 0;
  const Pool state = pool();
  return (u64{std::min(state.next, state.end) - state.first} / view_.frame_units - state.free_count) *
             (u64{view_.frame_units} << kPageBits) +
         code_bytes_in_use();
}
u64 CudaBackend::pool_size() {
  if (is_flat(view_)) return 0;
  const Pool state = pool();
  return (state.end + code_units_ - state.first) << kPageBits;
}

bool CudaBackend::back_pool(u64 bytes) {
  Pool state = pool();
  u64 end = (u64{state.first} << kPageBits) + std::min(bytes, kMostFrameBytes);
  bool enough = frames_->grow(end);
  // Failed allocations have moved `next` past the end.
  const u32 whole = (state.end - state.first) / view_.frame_units * view_.frame_units;
  state.next = std::min(state.next, state.first + whole);
  state.end = static_cast<u32>((std::min(frames_->bytes(), end) >> kPageBits) - code_units_);
  device_pool_.upload(std::span(&state, 1), stream_);
  synchronize("growing the pool");
  return enough;
}

bool CudaBackend::grow_automatically() {
  const u64 have = pool_size(), limit = pool_limit_ - std::min(pool_limit_, code_bytes());
  if (have >= limit) return false;
  for (u64 wanted = std::min(have * 2, limit); wanted >= have + (u64{view_.frame_units} << kPageBits);
       wanted = have + (wanted - have) / 2) {
    if (back_pool(wanted)) return true;
  }
  return false;
}

void CudaBackend::grow_pool(u64 bytes) {
  code_gave_way_ = false;
  if (is_flat(view_) || bytes <= pool_size()) return;
  if (!back_pool(bytes)) {
    throw DeviceError("the pool cannot grow to " + size_text(bytes) + ", only to " + size_text(pool_size()) +
                      ": the device has no more memory");
  }
}

}  // namespace myriarm::cuda

std::unique_ptr<myriarm::Backend> myriarm::make_cuda_backend(const Image& image, const FleetOptions& options,
                                                             int device) {
  return std::make_unique<cuda::CudaBackend>(image, options, device);
}
