// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/cuda_backend.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>

#include "isa/control_flow.h"
#include "isa/semantics_ids.h"
#include "myriarm/error.h"

namespace myriarm::cuda {
namespace {

constexpr u64 kMiB = u64{1} << 20;
/// What frame numbers of a page-table entry can count.
constexpr u64 kMostFrameBytes = u64{1} << (32 - kPageFlagBits + kPageBits);
/// Frames that a team is given from the start if the pool is automatic; more come when they are needed.
constexpr u64 kFirstFrames = 4;
/// Code that is predecoded lies in one span of the window; a program with code further apart decodes the rest as it runs.
constexpr u64 kMostCodeBytes = 64 * kMiB;

std::vector<DeviceRow> device_rows() {
  std::vector<DeviceRow> rows(kRowCount);
  for (u16 row = 0; row < kRowCount; row++) {
    const u16 number = kSemantics.id[row];
    const bool parks = flow_of(row) == Flow::call || flow_of(row) == Flow::ret;
    if (number == 0) {
      rows[row] = {kKindOutOfLine, kRowNotImplemented};
    } else if (kSemantics.rare[row]) {
      rows[row] = {kKindOutOfLine, static_cast<u16>(kFirstRareRow + number - 1)};
    } else {
      rows[row] = {static_cast<u16>(kFirstKind + number - 1), parks ? kRowParks : u16{0}};
    }
  }
  return rows;
}

/// Whether a relative branch at an offset of the window stays in it. The interpreter's fast path does not look.
bool stays_inside(const Operands& branch, u64 at, u64 window) {
  return at + static_cast<u64>(static_cast<i64>(branch.offset)) < window;
}

/// A decoded word as the device dispatches on it.
Operands device_word(Operands o, const std::vector<DeviceRow>& rows, u64 at, u64 window) {
  DeviceRow row = rows[o.row];
  if (is_relative(o.row) && !stays_inside(o, at, window)) row = {kKindOutOfLine, kRowNotPredecoded};
  o.kind = row.kind;
  o.row = row.row;
  return o;
}

/// Whether a word, not yet as the device has it, can be run together with the branch behind it.
bool folds_next(const Operands& o, const Operands& next, u64 next_at, u64 window) {
  const bool plain = flow_of(o.row) == Flow::next && kSemantics.id[o.row] != 0 && !kSemantics.rare[o.row];
  const bool branch = next.row == kRow_B_only_branch_imm || next.row == kRow_B_only_condbranch;
  return plain && branch && next.offset / 4 >= -512 && next.offset / 4 < 512 && stays_inside(next, next_at, window);
}

u16 folded(const Operands& branch) {
  const u32 always = 14;
  const u32 cond = branch.row == kRow_B_only_branch_imm ? always : branch.aux;
  return static_cast<u16>(kRowFolds | cond << 10 | (static_cast<u32>(branch.offset / 4) & 0x3FF));
}

}  // namespace

CudaBackend::CudaBackend(const Image& image, const FleetOptions& options, int device)
    : device_(device), lanes_(options.lanes), pool_is_automatic_(options.pool == 0), stops_(options.lanes) {
  use();
  if (image.window_pages >= u64{1} << 20) {
    throw ArgumentError("memory of " + std::to_string(image.window_pages >> 8) +
                        " MiB a lane is too much for a CUDA device; ask for less than 4096 MiB");
  }
  check(cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, device),
        "asking for the device's size");
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a CUDA stream");
  check(cudaStreamCreateWithFlags(&cancel_stream_, cudaStreamNonBlocking), "making a CUDA stream");
  view_.lanes = lanes_;
  view_.teams = static_cast<u32>((lanes_ + kTeam - 1) / kTeam);
  view_.window_begin = image.window_begin;
  view_.first_page = image.window_begin >> kPageBits;
  view_.page_count = image.window_pages;

  state_.resize(kPlaneCount * lanes_, "allocating lane state");
  device_stops_.resize(lanes_, "allocating stops");
  tables_.resize(view_.teams * image.window_pages, "allocating page tables");
  own_code_.resize(view_.teams, "allocating code flags");
  cancel_flag_.resize(1, "allocating the cancel flag");
  spent_.resize(1, "allocating a flag");
  device_pool_.resize(1, "allocating the pool's state");
  check(cudaMemsetAsync(state_.data(), 0, state_.bytes(), stream_), "clearing lane state");
  check(cudaMemsetAsync(device_stops_.data(), 0, device_stops_.bytes(), stream_), "clearing stops");
  check(cudaMemsetAsync(tables_.data(), 0, tables_.bytes(), stream_), "clearing page tables");
  check(cudaMemsetAsync(own_code_.data(), 0, own_code_.bytes(), stream_), "clearing code flags");
  check(cudaMemsetAsync(cancel_flag_.data(), 0, 4, stream_), "clearing the cancel flag");

  // The most that frames can take: what was asked for, or what is free after the rest, less a margin for the driver.
  size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "asking for free device memory");
  const u64 room = free > 512 * kMiB ? free - 512 * kMiB : 0;
  u64 image_pages = static_cast<u64>(
      std::count_if(image.pages.begin(), image.pages.end(), [](const ImagePage& p) { return !p.bytes.empty(); }));
  first_frame_unit_ = kFirstImageUnit + image_pages;
  const u64 units_bytes = first_frame_unit_ << kPageBits;
  pool_limit_ = std::min<u64>(room > units_bytes ? room - units_bytes : 0, kMostFrameBytes - units_bytes);
  if (!pool_is_automatic_ && options.pool > pool_limit_) {
    throw DeviceError("a pool of " + std::to_string(options.pool >> 20) + " MiB is more than the device has free (" +
                      std::to_string(pool_limit_ >> 20) + " MiB); ask for a smaller one");
  }
  // Addresses for all of the device, so that the pool can still grow when others have freed memory.
  frames_.emplace(device, std::min<u64>(units_bytes + total, kMostFrameBytes));
  free_frames_.resize(std::min<u64>(total, kMostFrameBytes) / kFrameBytes + 1, "allocating the list of free frames");
  view_.frames = frames_->data();
  view_.state = state_.data();
  view_.stops = device_stops_.data();
  view_.tables = tables_.data();
  view_.pool = device_pool_.data();
  view_.free_frames = free_frames_.data();
  view_.own_code = own_code_.data();
  view_.cancel = cancel_flag_.data();

  if (!frames_->grow(units_bytes)) throw DeviceError("the device has no room for the program's image");
  const u32 first_unit = static_cast<u32>(first_frame_unit_);
  Pool pool{first_unit, first_unit, first_unit, 0};
  device_pool_.upload(std::span(&pool, 1), stream_);
  const u64 first_pool =
      pool_is_automatic_ ? std::max(view_.teams * kFirstFrames * kFrameBytes, 64 * kMiB) : options.pool;
  if (!back_pool(std::min(first_pool, pool_limit_))) {
    throw DeviceError("the device has no room for a pool of " + std::to_string(first_pool >> 20) +
                      " MiB; ask for fewer lanes");
  }
  load_image(image);
  predecode(image);
  fill(Field::pc, image.entry);
  fill(Field::sp, image.stack_pointer);
  fill(Field::limit, ~u64{0});
  const u64 open = kMonitorOpen;
  values_.resize(1, "allocating call arguments");
  values_.upload(std::span(&open, 1), stream_);
  launch_scatter(view_.state + kPlaneMonitor * lanes_, nullptr, lanes_, values_.data(), 0, stream_);
  synchronize("starting the fleet");
}

CudaBackend::~CudaBackend() {
  cudaSetDevice(device_);
  if (stream_ != nullptr) cudaStreamDestroy(stream_);
  if (cancel_stream_ != nullptr) cudaStreamDestroy(cancel_stream_);
}

void CudaBackend::load_image(const Image& image) {
  std::vector<u8> bytes(first_frame_unit_ << kPageBits);
  std::vector<u64> pages;
  std::vector<u32> entries;
  u32 unit = kFirstImageUnit;
  for (const ImagePage& page : image.pages) {
    u32 number = kZeroUnit;
    if (!page.bytes.empty()) {
      number = unit++;
      std::memcpy(bytes.data() + (static_cast<u64>(number) << kPageBits), page.bytes.data(), kPageSize);
    }
    for (u64 i = 0; i < page.count; i++) {
      pages.push_back(page.page + i);
      entries.push_back(number << kPageFlagBits | (page.permissions & 7) | kPageShared);
    }
  }
  check(cudaMemcpyAsync(view_.frames, bytes.data(), bytes.size(), cudaMemcpyHostToDevice, stream_),
        "loading the program");
  DeviceArray<u64> device_pages(pages.size(), "allocating the image's page list");
  DeviceArray<u32> device_entries(entries.size(), "allocating the image's page list");
  device_pages.upload(pages, stream_);
  device_entries.upload(entries, stream_);
  launch_fill_tables(view_, device_pages.data(), device_entries.data(), pages.size(), stream_);
  synchronize("loading the program");
}

void CudaBackend::predecode(const Image& image) {
  const DecodeTable& table = decode_table();
  decode_first_.resize(DecodeTable::kBuckets + 1, "allocating decode tables");
  decode_candidates_.resize(table.candidate_count, "allocating decode tables");
  decode_patterns_.resize(kRowCount, "allocating decode tables");
  rows_.resize(kRowCount, "allocating decode tables");
  decode_first_.upload(std::span(table.first, DecodeTable::kBuckets + 1), stream_);
  decode_candidates_.upload(std::span(table.candidates, table.candidate_count), stream_);
  decode_patterns_.upload(std::span(table.patterns, static_cast<size_t>(kRowCount)), stream_);
  const std::vector<DeviceRow> rows = device_rows();
  rows_.upload(rows, stream_);
  view_.decode = {decode_first_.data(), decode_candidates_.data(), table.candidate_count, decode_patterns_.data()};
  view_.rows = rows_.data();

  u64 first = ~u64{0}, last = 0;
  for (const ImagePage& page : image.pages) {
    if (!(page.permissions & kExecute) || page.bytes.empty()) continue;
    if (first == ~u64{0}) first = page.page;
    if ((page.page - first + 1) << kPageBits <= kMostCodeBytes) last = page.page;
  }
  Operands outside = {};
  outside.kind = kKindOutOfLine;
  outside.row = kRowNotPredecoded;
  std::vector<Operands> code;
  if (first != ~u64{0}) {
    code.assign((last - first + 1) * (kPageSize / 4), outside);
    for (const ImagePage& page : image.pages) {
      if (!(page.permissions & kExecute) || page.bytes.empty() || page.page > last) continue;
      for (u64 i = 0; i < kPageSize / 4; i++) {
        u32 word;
        std::memcpy(&word, page.bytes.data() + i * 4, 4);
        code[(page.page - first) * (kPageSize / 4) + i] = decode(table, word);
      }
    }
    const u64 begin = first << kPageBits, window = view_.page_count << kPageBits;
    for (size_t i = 0; i < code.size(); i++) {
      if (code[i].kind == kKindOutOfLine && code[i].row == kRowNotPredecoded) continue;
      const bool folds = i + 1 < code.size() && folds_next(code[i], code[i + 1], begin + (i + 1) * 4, window);
      const Operands next = folds ? code[i + 1] : Operands{};
      code[i] = device_word(code[i], rows, begin + i * 4, window);
      if (folds) code[i].row |= folded(next);
    }
    view_.code_begin = static_cast<u32>(first << kPageBits);
    view_.code_words = static_cast<u32>(code.size());
  }
  code.insert(code.begin(), outside);
  code_.resize(code.size(), "allocating predecoded code");
  code_.upload(code, stream_);
  view_.code = code_.data();
  synchronize("predecoding the program");
}

u64* CudaBackend::plane(Field field) {
  if (field >= Field::v0_low) {
    if (vectors_.data() == nullptr) {
      vectors_.resize(64 * lanes_, "allocating vector registers");
      check(cudaMemsetAsync(vectors_.data(), 0, vectors_.bytes(), stream_), "clearing vector registers");
      view_.vectors = vectors_.data();
    }
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

u64 CudaBackend::run() {
  use();
  std::vector<u64> retired(lanes_);
  gather(Field::instructions, {}, retired);
  const u64 before = std::accumulate(retired.begin(), retired.end(), u64{0});
  for (;;) {
    launch_run(view_, static_cast<u32>(multiprocessors_), stream_);
    check(cudaGetLastError(), "starting the interpreter");
    check(cudaMemcpyAsync(stops_.data(), device_stops_.data(), lanes_ * sizeof(StopRecord), cudaMemcpyDeviceToHost,
                          stream_),
          "fetching stops");
    synchronize("running the guest");
    if (!pool_is_automatic_) break;
    std::vector<u32> hungry;
    for (u32 lane = 0; lane < lanes_; lane++) {
      if (stops_[lane].code == StopCode::out_of_memory) hungry.push_back(lane);
    }
    if (hungry.empty() || !grow_automatically()) break;
    scatter_stops(hungry, std::vector<StopRecord>(hungry.size()));
  }
  check(cudaMemsetAsync(cancel_flag_.data(), 0, 4, stream_), "clearing the cancel flag");
  gather(Field::instructions, {}, retired);
  return std::accumulate(retired.begin(), retired.end(), u64{0}) - before;
}

void CudaBackend::cancel() {
  // From any thread, while the kernel runs: the flag lies in device memory and is set from a stream of its own.
  static const u32 one = 1;
  cudaSetDevice(device_);
  cudaMemcpyAsync(cancel_flag_.data(), &one, 4, cudaMemcpyHostToDevice, cancel_stream_);
  cudaStreamSynchronize(cancel_stream_);
}

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
  launch_scatter_stops(device_stops_.data(), numbers, stops.size(), stop_values_.data(), stream_);
  synchronize("setting stops");
  for (size_t i = 0; i < stops.size(); i++) stops_[lanes.empty() ? i : lanes[i]] = stops[i];
}

void CudaBackend::gather(Field field, std::span<const u32> lanes, std::span<u64> values) {
  use();
  const u64* from = plane(field);
  if (!lanes.empty()) {
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
  values_.resize(values.size(), "allocating call arguments");
  values_.upload(values, stream_);
  const u32* numbers = upload_lanes(lanes);
  launch_scatter(to, numbers, values.size(), values_.data(), 1, stream_);
  synchronize("setting lane state");
}

void CudaBackend::fill(Field field, u64 value) {
  use();
  u64* to = plane(field);
  values_.resize(1, "allocating call arguments");
  values_.upload(std::span(&value, 1), stream_);
  launch_scatter(to, nullptr, lanes_, values_.data(), 0, stream_);
  synchronize("setting lane state");
}

void CudaBackend::read(std::span<const Transfer> transfers, std::span<u8> buffer, std::span<u32> done) {
  use();
  transfers_.resize(transfers.size(), "allocating call arguments");
  transfers_.upload(transfers, stream_);
  buffer_.resize(std::max<u64>(buffer.size(), 1), "allocating a transfer buffer");
  // What is not mapped keeps what the caller had there.
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
  transfers_.upload(transfers, stream_);
  buffer_.resize(std::max<u64>(buffer.size(), 1), "allocating a transfer buffer");
  buffer_.upload(buffer, stream_);
  u32 spent = 0;
  do {
    check(cudaMemsetAsync(spent_.data(), 0, 4, stream_), "writing guest memory");
    launch_prepare_write(view_, transfers_.data(), transfers.size(), spent_.data(), stream_);
    check(cudaMemcpyAsync(&spent, spent_.data(), 4, cudaMemcpyDeviceToHost, stream_), "writing guest memory");
    synchronize("writing guest memory");
  } while (spent != 0 && pool_is_automatic_ && grow_automatically());
  done_.resize(transfers.size(), "allocating call results");
  launch_write(view_, transfers_.data(), transfers.size(), buffer_.data(), done_.data(), stream_);
  if (!done.empty()) {
    check(cudaMemcpyAsync(done.data(), done_.data(), done.size_bytes(), cudaMemcpyDeviceToHost, stream_),
          "writing guest memory");
  }
  synchronize("writing guest memory");
  return spent == 0;
}

void CudaBackend::change_pages(std::span<const u32> lanes, u64 page, u64 count, u32 permissions, MapAction action) {
  use();
  std::vector<TeamMask> masks;
  if (lanes.empty()) {
    for (u32 team = 0; team < view_.teams; team++) masks.push_back({team, ~0u});
  } else {
    std::map<u32, u32> by_team;
    for (u32 lane : lanes) by_team[lane / kTeam] |= 1u << lane % kTeam;
    for (auto [team, mask] : by_team) masks.push_back({team, mask});
  }
  team_masks_.resize(masks.size(), "allocating call arguments");
  team_masks_.upload(masks, stream_);
  u32 spent = 0;
  do {
    // Run again after growing, the kernel finds what it has done already done.
    check(cudaMemsetAsync(spent_.data(), 0, 4, stream_), "changing guest pages");
    launch_map(view_, team_masks_.data(), masks.size(), page, count, permissions, action, spent_.data(), stream_);
    check(cudaMemcpyAsync(&spent, spent_.data(), 4, cudaMemcpyDeviceToHost, stream_), "changing guest pages");
    synchronize("changing guest pages");
  } while (spent != 0 && pool_is_automatic_ && grow_automatically());
  if (spent != 0) {
    throw DeviceError("the pool of " + std::to_string(pool_size() >> 20) +
                      " MiB for written pages is spent; grow it or make the fleet with a larger pool");
  }
}
void CudaBackend::map(std::span<const u32> lanes, u64 page, u64 count, u32 permissions) {
  change_pages(lanes, page, count, permissions, MapAction::map);
}
void CudaBackend::protect(std::span<const u32> lanes, u64 page, u64 count, u32 permissions) {
  change_pages(lanes, page, count, permissions, MapAction::protect);
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
  const Pool state = pool();
  return (u64{std::min(state.next, state.end) - state.first} / kFrameUnits - state.free_count) * kFrameBytes;
}
u64 CudaBackend::pool_size() { return (pool().end - first_frame_unit_) << kPageBits; }

bool CudaBackend::back_pool(u64 bytes) {
  u64 end = (first_frame_unit_ << kPageBits) + std::min(bytes, kMostFrameBytes);
  bool enough = frames_->grow(end);
  Pool state = pool();
  // Frames that were asked for and not there have moved `next` past the end.
  const u32 whole = (state.end - state.first) / kFrameUnits * kFrameUnits;
  state.next = std::min(state.next, state.first + whole);
  state.end = static_cast<u32>(std::min(frames_->bytes(), end) >> kPageBits);
  device_pool_.upload(std::span(&state, 1), stream_);
  synchronize("growing the pool");
  return enough;
}

bool CudaBackend::grow_automatically() {
  const u64 have = pool_size();
  if (have >= pool_limit_) return false;
  for (u64 wanted = std::min(have * 2, pool_limit_); wanted >= have + kFrameBytes;
       wanted = have + (wanted - have) / 2) {
    if (back_pool(wanted)) return true;
  }
  return false;
}

void CudaBackend::grow_pool(u64 bytes) {
  if (bytes <= pool_size()) return;
  if (!back_pool(bytes)) {
    throw DeviceError("the pool cannot grow to " + std::to_string(bytes >> 20) + " MiB, only to " +
                      std::to_string(pool_size() >> 20) + " MiB: the device has no more memory");
  }
}

}  // namespace myriarm::cuda

std::unique_ptr<myriarm::Backend> myriarm::make_cuda_backend(const Image& image, const FleetOptions& options,
                                                             int device) {
  return std::make_unique<cuda::CudaBackend>(image, options, device);
}
