// SPDX-License-Identifier: Apache-2.0
// Makes a CPU backend, and reads and writes the registers of its lanes. run.cpp runs them, guest_memory.cpp changes
// their memory.
#include "backends/cpu/cpu_backend.h"

#include <unistd.h>

#include <algorithm>

#include "myriarm/error.h"

namespace myriarm::cpu {
namespace {

u64 default_pool(const FleetOptions& options) {
  if (options.pool != 0) return options.pool;
  u64 ram = static_cast<u64>(sysconf(_SC_PHYS_PAGES)) * static_cast<u64>(sysconf(_SC_PAGESIZE));
  return std::min<u64>(ram / 4 * 3, u64{100} << 30);
}

u64 lane_count(const Image& image) {
  u64 lanes = 0;
  for (const ImageProgram& program : image.programs) lanes += program.lanes;
  return lanes;
}

/// The entries with which a lane's page table begins: without those behind kUsualPages, as long as no program has more there than
/// kernel pages of zeros.
u64 first_table_pages(const Image& image) {
  u64 pages = image.window_pages + std::min(image.kernel_pages, kernel::kUsualPages);
  const u64 kernel_end = image.window_pages + kernel::kKernelPages;
  for (const ImageProgram& program : image.programs) {
    for (const ImagePage& page : program.pages) {
      const u64 end = page.page + page.count;
      if (!page.bytes.empty() || end > kernel_end) pages = std::max(pages, end);
    }
  }
  return pages;
}

bool is_flat(MemoryPolicy policy) { return policy == MemoryPolicy::shared || policy == MemoryPolicy::device_shared; }

constexpr u64 kStateFields = static_cast<u64>(Field::v0_low) + static_cast<u64>(SystemField::count);

}  // namespace

static_assert(kRead == static_cast<u32>(kPageReadable) && kWrite == static_cast<u32>(kPageWritable) &&
                  kExecute == static_cast<u32>(kPageExecutable),
              "the API's permissions are the page flags");

CpuBackend::CpuBackend(const Image& image, const FleetOptions& options)
    : lanes_(lane_count(image)),
      window_pages_(image.window_pages + image.kernel_pages),
      first_page_(image.window_begin >> kPageBits),
      guest_pages_(image.window_pages),
      lane_pages_(image.window_pages + kernel::kOwnPages),
      slices_(window_pages_, guest_pages_),
      pool_(image_frames(image), default_pool(options) >> kPageBits, options.pool == 0, lanes_, window_pages_),
      code_store_(pool_),
      flat_(is_flat(options.memory_policy) ? FlatMemory(lanes_, window_pages_) : FlatMemory()),
      state_(kStateFields * lanes_ * 8),
      vectors_(lanes_ * 64 * 8),
      space_tables_(window_pages_),
      tables_(lanes_, flat_ ? window_pages_ : first_table_pages(image), image.programs.size(), space_tables_),
      spaces_(lanes_),
      waiting_(lanes_),
      stops_(lanes_),
      codes_(new StopCode[lanes_]()),
      run_ends_(lanes_, RunEnd{kMostRetired}),
      touched_(lanes_),
      program_of_(lanes_),
      own_code_(lanes_),
      process_host_(options.processes.host),
      keep_memory_(options.processes.keep_memory),
      keep_files_(options.processes.keep_files),
      workers_(options.threads != 0 ? options.threads : host_threads()),
      compile_threads_(options.compile_threads),
      caches_translation_(options.translation_cache) {
  std::vector<u32> numbers;
  programs_ = make_programs(image, pool_, static_cast<bool>(flat_), numbers);
  u64 lane = 0;
  for (size_t i = 0; i < image.programs.size(); i++) {
    for (const u64 end = lane + image.programs[i].lanes; lane < end; lane++) {
      program_of_[lane] = numbers[i];
      tables_.begin(lane, numbers[i]);
      if (flat_) programs_[numbers[i]]->copy_content(flat_.lane(lane), pool_);
      field(Field::pc)[lane] = image.programs[i].entry;
      field(Field::sp)[lane] = image.programs[i].stack_pointer;
    }
  }
  fill(Field::limit, ~u64{0});
  std::fill_n(system_field(SystemField::monitor), lanes_, kMonitorOpen);
}

u64* CpuBackend::system_field(SystemField f) const {
  switch (f) {
    case SystemField::tpidr: return field(Field::tpidr);
    case SystemField::fpcr: return field(Field::fpcr);
    case SystemField::fpsr: return field(Field::fpsr);
    default: return field(static_cast<Field>(static_cast<u64>(Field::v0_low) + static_cast<u64>(f)));
  }
}

void CpuBackend::attach(Lane& lane, u64 index) {
  lane.index = index;
  lane.first_page = first_page_;
  lane.page_count = tables_.pages(index);
  lane.guest_pages = guest_pages_;
  // No table is made for a lane without memory: the empty one has no page that anything could change.
  lane.table = has_memory(static_cast<u32>(index)) ? own_table(index) : tables_.empty();
  lane.lane_table = lane.table;
  lane.lane_touched = &touched_[index];
  lane.lane_pages = lane_pages_;
  lane.frames = flat_ ? flat_.frames(index) : pool_.base();
  lane.v = vectors(index);
  lane.pool = flat_ ? nullptr : &pool_;
  lane.touched = &touched_[index];
  lane.slices = &slices_;
  lane.program_code = &program(index).code;
  lane.code_store = &code_store_;
  lane.own_code = &own_code_[index];
  if (spaces_[index] != nullptr) watch_common_pages(lane, index);
  if (running_space(index) != 0) point(lane, index, running_space(index));
}

bool CpuBackend::widen_table(Lane& lane, u64 index, u64 end) {
  if (end <= lane.page_count) return true;
  u32* table = tables_.widen(index, program(index), program_of_[index], touched_[index], slices_);
  if (table == nullptr) {
    lane.stop = stop_record(StopCode::out_of_memory);
    return false;
  }
  if (lane.table == lane.lane_table) lane.table = table;
  lane.lane_table = table;
  lane.page_count = tables_.pages(index);
  lane.found_is_stale = true;
  return true;
}

void CpuBackend::set_stop(u64 lane, const StopRecord& stop) {
  stops_[lane] = stop;
  run_ends_[lane] = run_ends_[lane].included();
  std::atomic_ref(codes_[lane]).store(stop.code, std::memory_order_release);
}

// Other threads may call progress() at any time, so these counts are always read and written as atomics.
u64 CpuBackend::retired(u64 lane) const {
  return std::atomic_ref(field(Field::instructions)[lane]).load(std::memory_order_relaxed);
}
void CpuBackend::publish(u64 lane, u64 retired) {
  std::atomic_ref(field(Field::instructions)[lane]).store(retired, std::memory_order_relaxed);
}

void CpuBackend::progress(std::span<u64> retired_counts, std::span<StopCode> codes) const {
  // A lane's count is stored before its stop, so that a count read after a stop is the lane's last.
  for (size_t i = 0; i < codes.size(); i++) codes[i] = std::atomic_ref(codes_[i]).load(std::memory_order_acquire);
  for (size_t i = 0; i < retired_counts.size(); i++) retired_counts[i] = retired(i);
}

CpuBackend::Plane CpuBackend::plane(Field f) const {
  if (f < Field::v0_low) return {field(f), 1};
  // A lane's vector registers lie together, halves side by side.
  const u64 n = static_cast<u64>(f) - static_cast<u64>(Field::v0_low);
  return {vectors(0) + (n % 32) * 2 + n / 32, 64};
}

u64* CpuBackend::array(u64 number) const {
  constexpr u64 kFields = static_cast<u64>(Field::v0_low);
  if (number < kFields) return field(static_cast<Field>(number));
  return system_field(static_cast<SystemField>(static_cast<u64>(SystemField::monitor) + number - kFields));
}

void CpuBackend::gather(Field f, std::span<const u32> lanes, std::span<u64> values) {
  const Plane from = plane(f);
  size_t i = 0;
  for_lanes(lanes, [&](u64 lane) { values[i++] = from.first[lane * from.stride]; });
}

void CpuBackend::scatter(Field f, std::span<const u32> lanes, std::span<const u64> values) {
  size_t i = 0;
  if (f == Field::instructions) return for_lanes(lanes, [&](u64 lane) { publish(lane, values[i++]); });
  const Plane to = plane(f);
  for_lanes(lanes, [&](u64 lane) { to.first[lane * to.stride] = values[i++]; });
}

void CpuBackend::fill(Field f, u64 value) {
  std::vector<u64> values(lanes_, value);
  scatter(f, {}, values);
}

ArrayView CpuBackend::view(Field f) {
  const Plane at = plane(f);
  return {at.first, static_cast<i64>(at.stride * sizeof(u64))};
}

ArrayView CpuBackend::memory_view() {
  if (!flat_) return {};
  return {flat_.lane(0), static_cast<i64>(flat_.stride())};
}

}  // namespace myriarm::cpu

std::unique_ptr<myriarm::Backend> myriarm::make_cpu_backend(const Image& image, const FleetOptions& options) {
  return std::make_unique<cpu::CpuBackend>(image, options);
}
