// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/cpu_backend.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "myriarm/error.h"

namespace myriarm::cpu {
namespace {

/// Instructions between two looks at the cancel flag: some ten milliseconds.
constexpr u64 kQuantum = u64{4} << 20;
/// Counts are kept times 16; beyond this a limit is endless.
constexpr u64 kEndless = u64{1} << 58;

u64 default_pool(const FleetOptions& options) {
  if (options.pool != 0) return options.pool;
  u64 ram = static_cast<u64>(sysconf(_SC_PHYS_PAGES)) * static_cast<u64>(sysconf(_SC_PAGESIZE));
  return std::min<u64>(ram / 4 * 3, u64{100} << 30);
}

u64 image_frames(const Image& image) {
  return static_cast<u64>(
      std::count_if(image.pages.begin(), image.pages.end(), [](const ImagePage& page) { return !page.bytes.empty(); }));
}

u32 flags_of(u32 permissions) { return permissions & (kPageReadable | kPageWritable | kPageExecutable); }

constexpr u64 kStateFields = static_cast<u64>(Field::v0_low) + static_cast<u64>(SystemField::count);

}  // namespace

static_assert(kRead == static_cast<u32>(kPageReadable) && kWrite == static_cast<u32>(kPageWritable) &&
                  kExecute == static_cast<u32>(kPageExecutable),
              "the API's permissions are the page flags");

LazyArray::LazyArray(u64 bytes) : bytes_(std::max<u64>(bytes, kPageSize)) {
  void* range = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) {
    throw DeviceError("the host refuses " + std::to_string(bytes_ >> 20) +
                      " MiB of addresses for the lanes; ask for fewer lanes or less memory");
  }
  data_ = static_cast<u8*>(range);
}
LazyArray::~LazyArray() { munmap(data_, bytes_); }

CpuBackend::CpuBackend(const Image& image, const FleetOptions& options)
    : lanes_(options.lanes),
      window_pages_(image.window_pages),
      first_page_(image.window_begin >> kPageBits),
      pool_(image_frames(image), default_pool(options) >> kPageBits),
      state_(kStateFields * lanes_ * 8),
      tables_(lanes_ * window_pages_ * 4),
      vectors_(lanes_ * 64 * 8),
      stops_(lanes_),
      own_code_(lanes_),
      workers_(options.threads != 0 ? options.threads : host_threads()) {
  // The image: frames once, entries for every lane.
  u32 frame = FramePool::kFirstImageFrame;
  std::vector<u32> entries;  // of image.pages
  for (const ImagePage& page : image.pages) {
    u32 number = FramePool::kZeroFrame;
    if (!page.bytes.empty()) {
      number = frame++;
      std::memcpy(pool_.at(number), page.bytes.data(), kPageSize);
    }
    entries.push_back(number << kPageFlagBits | flags_of(page.permissions) | kPageShared);
  }
  for (u64 lane = 0; lane < lanes_; lane++) {
    for (size_t i = 0; i < entries.size(); i++) {
      std::fill_n(table(lane) + image.pages[i].page, image.pages[i].count, entries[i]);
    }
  }
  // Code: each run of neighbouring executable pages with content is a region. Its frames are neighbours too.
  for (size_t i = 0; i < image.pages.size();) {
    auto is_code = [&](size_t k) { return (image.pages[k].permissions & kExecute) && !image.pages[k].bytes.empty(); };
    if (!is_code(i)) {
      i++;
      continue;
    }
    size_t end = i + 1;
    while (end < image.pages.size() && is_code(end) && image.pages[end].page == image.pages[end - 1].page + 1) end++;
    u32 first = entries[i] >> kPageFlagBits;
    shared_code_.regions.push_back(predecode_region(
        pool_.at(first), image.window_begin + (image.pages[i].page << kPageBits), (end - i) * (kPageSize / 4)));
    shared_code_.longest_run = std::max(shared_code_.longest_run, shared_code_.regions.back()->longest_run + 1);
    i = end;
  }
  fill(Field::pc, image.entry);
  fill(Field::sp, image.stack_pointer);
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
  lane.first_page = first_page_;
  lane.page_count = window_pages_;
  lane.table = table(index);
  lane.frames = pool_.base();
  lane.v = reinterpret_cast<u64*>(vectors_.data()) + index * 64;
  lane.pool = &pool_;
  lane.shared_code = &shared_code_;
  lane.own_code = &own_code_[index];
}

void CpuBackend::execute(Lane& lane, Position& at, u64 limit) {
  limit = std::min(limit, kEndless);
  for (;;) {
    if (at.retired >= limit) {
      lane.stop = {StopCode::budget, FaultCode::none, 0, 0, 0};
      return;
    }
    if (cancel_.load(std::memory_order_relaxed)) {
      lane.stop = {StopCode::cancelled, FaultCode::none, 0, 0, 0};
      return;
    }
    if (!enter_region(lane, at.pc, at.retired)) return;
    // The fast handlers may overrun a limit by the longest run without a taken branch; the rest is stepped.
    u64 slack = shared_code_.longest_run;
    if (*lane.own_code != nullptr) slack = std::max(slack, (*lane.own_code)->longest_run());
    const bool stepping = limit - at.retired <= slack;
    const u64 until = stepping ? limit : std::min(limit - slack, at.retired + kQuantum);
    lane.fast_limit = until * sizeof(Operands);
    lane.step_limit = limit * sizeof(Operands);
    interpret(lane, stepping);
    at.pc = lane.op == &lane.far ? lane.far_pc : lane.pc_of(lane.op);
    at.retired = (lane.bias + reinterpret_cast<u64>(lane.op)) / sizeof(Operands);
    if (lane.restart) {
      lane.restart = false;
      lane.stop = {};
    }
    switch (lane.stop.code) {
      case StopCode::none: continue;
      case StopCode::syscall:
        at.pc += 4;
        at.retired++;
        return;
      case StopCode::undefined: lane.stop.address = fetch_word(lane, at.pc); return;
      default: return;
    }
  }
}

u64 CpuBackend::run_lane(u64 index) {
  Lane lane;
  attach(lane, index);
  for (u32 i = 0; i <= kSlotSP; i++) lane.r[i] = field(static_cast<Field>(i))[index];
  Flags flags = unpack_flags(static_cast<u32>(field(Field::nzcv)[index]));
  lane.n = flags.n, lane.z = flags.z, lane.c = flags.c, lane.v_flag = flags.v;
  for (int i = 0; i < static_cast<int>(SystemField::count); i++) {
    lane.system[i] = system_field(static_cast<SystemField>(i))[index];
  }
  const u64 before = field(Field::instructions)[index];
  Position at{field(Field::pc)[index], before};
  execute(lane, at, field(Field::limit)[index]);
  for (u32 i = 0; i <= kSlotSP; i++) field(static_cast<Field>(i))[index] = lane.r[i];
  field(Field::nzcv)[index] = pack_flags({lane.n != 0, lane.z != 0, lane.c != 0, lane.v_flag != 0});
  for (int i = 0; i < static_cast<int>(SystemField::count); i++) {
    system_field(static_cast<SystemField>(i))[index] = lane.system[i];
  }
  field(Field::pc)[index] = at.pc;
  field(Field::instructions)[index] = at.retired;
  stops_[index] = lane.stop;
  return at.retired - before;
}

u64 CpuBackend::run() {
  std::atomic<u64> next{0}, total{0};
  // Neighbouring lanes go to one thread, so that two threads seldom write to one cache line of the state arrays.
  const u64 chunk = std::clamp<u64>(lanes_ / (workers_.size() * 16), 1, 64);
  auto work = [&] {
    u64 sum = 0;
    for (u64 begin; (begin = next.fetch_add(chunk)) < lanes_;) {
      for (u64 lane = begin; lane < std::min(begin + chunk, lanes_); lane++) {
        if (stops_[lane].code == StopCode::none) sum += run_lane(lane);
      }
    }
    total += sum;
  };
  workers_.run(static_cast<unsigned>(std::min<u64>(workers_.size(), (lanes_ + chunk - 1) / chunk)), work);
  cancel_.store(false);
  return total;
}

template <class Visit>
void CpuBackend::for_lanes(std::span<const u32> lanes, Visit visit) {
  if (lanes.empty()) {
    for (u64 lane = 0; lane < lanes_; lane++) visit(lane);
  } else {
    for (u32 lane : lanes) visit(lane);
  }
}

void CpuBackend::scatter_stops(std::span<const u32> lanes, std::span<const StopRecord> stops) {
  size_t i = 0;
  for_lanes(lanes, [&](u64 lane) { stops_[lane] = stops[i++]; });
}

CpuBackend::Plane CpuBackend::plane(Field f) const {
  if (f < Field::v0_low) return {field(f), 1};
  // A lane's vector registers lie together, halves side by side.
  const u64 n = static_cast<u64>(f) - static_cast<u64>(Field::v0_low);
  return {reinterpret_cast<u64*>(vectors_.data()) + (n % 32) * 2 + n / 32, 64};
}

void CpuBackend::gather(Field f, std::span<const u32> lanes, std::span<u64> values) {
  const Plane from = plane(f);
  size_t i = 0;
  for_lanes(lanes, [&](u64 lane) { values[i++] = from.first[lane * from.stride]; });
}

void CpuBackend::scatter(Field f, std::span<const u32> lanes, std::span<const u64> values) {
  const Plane to = plane(f);
  size_t i = 0;
  for_lanes(lanes, [&](u64 lane) { to.first[lane * to.stride] = values[i++]; });
}

void CpuBackend::fill(Field f, u64 value) {
  std::vector<u64> values(lanes_, value);
  scatter(f, {}, values);
}

void CpuBackend::read(std::span<const Transfer> transfers, std::span<u8> buffer, std::span<u32> done) {
  for (size_t i = 0; i < transfers.size(); i++) {
    const Transfer& transfer = transfers[i];
    Lane lane;
    attach(lane, transfer.lane);
    u32 at = 0;
    while (at < transfer.size) {
      u64 address = transfer.address + at;
      u64 page = lane.memory().page_of(address);
      if (page >= window_pages_ || lane.table[page] == 0) break;
      u32 offset = static_cast<u32>(address) & (kPageSize - 1);
      u32 size = std::min(transfer.size - at, kPageSize - offset);
      std::memcpy(buffer.data() + transfer.offset + at, lane.memory().locate(lane.table[page], offset), size);
      at += size;
    }
    if (!done.empty()) done[i] = at;
  }
}

bool CpuBackend::write(std::span<const Transfer> transfers, std::span<const u8> buffer, std::span<u32> done) {
  bool enough = true;
  for (size_t i = 0; i < transfers.size(); i++) {
    const Transfer& transfer = transfers[i];
    Lane lane;
    attach(lane, transfer.lane);
    u32 at = 0;
    while (at < transfer.size) {
      u64 address = transfer.address + at;
      u32 offset = static_cast<u32>(address) & (kPageSize - 1);
      u32 size = std::min(transfer.size - at, kPageSize - offset);
      u8* to = writable_byte(lane, address, true);
      if (to == nullptr) {
        if (lane.stop.code == StopCode::out_of_memory) enough = false;
        break;
      }
      std::memcpy(to, buffer.data() + transfer.offset + at, size);
      code_written(lane, address, size);
      at += size;
    }
    if (!done.empty()) done[i] = at;
  }
  return enough;
}

void CpuBackend::release_page(u32& entry) {
  if (entry != 0 && !(entry & kPageShared)) pool_.release(entry >> kPageFlagBits);
  entry = 0;
}

namespace {
/// After a change of pages every branch looks again whether its target may be executed.
void forget_code(std::unique_ptr<LaneCode>& own) {
  if (own == nullptr) own = std::make_unique<LaneCode>();
  own->use_shared = false;
  own->drop_all();
}
}  // namespace

void CpuBackend::map(std::span<const u32> lanes, u64 page, u64 count, u32 permissions) {
  const u32 entry = permissions == 0 ? 0 : FramePool::kZeroFrame << kPageFlagBits | flags_of(permissions) | kPageShared;
  for_lanes(lanes, [&](u64 lane) {
    bool code = (permissions & kExecute) != 0;
    for (u64 p = page; p < page + count; p++) {
      code |= (table(lane)[p] & kPageExecutable) != 0;
      release_page(table(lane)[p]);
      table(lane)[p] = entry;
    }
    if (code) forget_code(own_code_[lane]);
  });
}

void CpuBackend::protect(std::span<const u32> lanes, u64 page, u64 count, u32 permissions) {
  for_lanes(lanes, [&](u64 lane) {
    bool code = (permissions & kExecute) != 0;
    for (u64 p = page; p < page + count; p++) {
      u32& entry = table(lane)[p];
      if (entry == 0) continue;
      code |= (entry & kPageExecutable) != 0;
      entry = (entry & ~(u32{kPageReadable} | kPageWritable | kPageExecutable)) | flags_of(permissions);
    }
    if (code) forget_code(own_code_[lane]);
  });
}

void CpuBackend::grow_pool(u64 bytes) {
  if (!pool_.grow(bytes)) {
    throw DeviceError("the pool cannot grow to " + std::to_string(bytes >> 20) + " MiB, only to " +
                      std::to_string(pool_.size_bytes() >> 20) + " MiB; make the fleet with a larger pool");
  }
}

}  // namespace myriarm::cpu

std::unique_ptr<myriarm::Backend> myriarm::make_cpu_backend(const Image& image, const FleetOptions& options) {
  return std::make_unique<cpu::CpuBackend>(image, options);
}
