// SPDX-License-Identifier: Apache-2.0
// Snapshots, fork and transactions. The backend keeps states under numbers. A Snapshot owns one number; it may outlive
// its fleet, and any thread may destroy it at any time.
#include <algorithm>

#include "fleet/fleet_impl.h"

namespace myriarm {

u64 FleetCore::save(std::span<const u32> lanes) {
  const u64 number = backend->take_snapshot(lanes);
  if (!processes) return number;
  try {
    processes->saved(number, lanes);
  } catch (...) {  // the host has no memory
    backend->drop_snapshot(number);
    throw;
  }
  return number;
}

void FleetCore::restore(u64 snapshot, std::span<const u32> from, std::span<const u32> to) {
  backend->restore(snapshot, from, to);
  if (!processes) return;
  processes->restored(snapshot, from, to);
  backend->process_inputs_changed(to);
}

void FleetCore::drop(u64 snapshot) noexcept {
  if (inherited()) return;
  {
    std::lock_guard lock(mutex_);
    to_release_.push_back(snapshot);
  }
  Phase found = Phase::idle;
  if (!phase.compare_exchange_strong(found, Phase::dropping)) return;  // the call or run in progress releases it
  drop_waiting();
  phase = Phase::idle;
}

void FleetCore::drop_waiting() noexcept {
  std::lock_guard lock(mutex_);
  for (u64 snapshot : to_release_) {
    try {
      if (processes) processes->dropped(snapshot);
      backend->drop_snapshot(snapshot);
    } catch (...) {
      // The device has failed, and its memory is gone.
    }
  }
  to_release_.clear();
}

Snapshot::Snapshot() noexcept = default;
Snapshot::~Snapshot() = default;
Snapshot::Snapshot(Snapshot&&) noexcept = default;
Snapshot& Snapshot::operator=(Snapshot&&) noexcept = default;

const std::vector<uint32_t>& Snapshot::lanes() const {
  static const std::vector<uint32_t> none;
  if (!impl_) return none;
  const std::shared_ptr<FleetCore> fleet = impl_->core.lock();
  if (fleet && fleet->inherited()) refuse_inherited();
  if (!fleet || fleet->phase == Phase::closed) {
    throw StateError(
        "the fleet of this snapshot is closed, and with it the saved state; take a snapshot of another fleet");
  }
  return impl_->lanes;
}

std::vector<u32> Fleet::Impl::distinct(std::span<const uint32_t> lanes, const char* what) const {
  check_lanes(lanes, what);
  std::vector<u32> rising(lanes.begin(), lanes.end());
  if (!std::is_sorted(rising.begin(), rising.end())) std::sort(rising.begin(), rising.end());
  const auto twice = std::adjacent_find(rising.begin(), rising.end());
  if (twice != rising.end()) {
    throw ArgumentError(std::string(what) + ": lane " + std::to_string(*twice) +
                        " is given twice; give each lane once");
  }
  return rising;
}

Snapshot Fleet::snapshot() {
  std::vector<u32> all(lanes());
  for (u32 lane = 0; lane < all.size(); lane++) all[lane] = lane;
  return snapshot(all);
}

Snapshot Fleet::snapshot(std::span<const uint32_t> lanes) {
  Impl::Use use(impl_.get());
  Snapshot made;
  made.impl_ = std::make_unique<Snapshot::Impl>();
  made.impl_->lanes = use->distinct(lanes, "snapshot");
  made.impl_->core = use->core;
  if (!lanes.empty()) {
    const bool all = lanes.size() == use->options.lanes;
    made.impl_->number = use->core->save(all ? std::span<const u32>() : made.impl_->lanes);
  }
  return made;
}

const Snapshot::Impl& Fleet::Impl::own(const Snapshot& snapshot) const {
  if (!snapshot.impl_) throw StateError("the snapshot is empty; give one that snapshot() made");
  (void)snapshot.lanes();  // throws if its fleet is closed
  if (snapshot.impl_->core.lock() != core) {
    throw ArgumentError("the snapshot is of another fleet; restore it there");
  }
  return *snapshot.impl_;
}

void Fleet::restore(const Snapshot& snapshot) {
  Impl::Use use(impl_.get());
  const Snapshot::Impl& kept = use->own(snapshot);
  if (!kept.number) return;
  use->forget_stops();
  use->core->restore(*kept.number, {}, {});
}

void Fleet::restore(const Snapshot& snapshot, std::span<const uint32_t> lanes) {
  Impl::Use use(impl_.get());
  const Snapshot::Impl& kept = use->own(snapshot);
  const std::vector<u32> wanted = use->distinct(lanes, "restore");
  for (u32 lane : wanted) {
    if (!std::binary_search(kept.lanes.begin(), kept.lanes.end(), lane)) {
      throw ArgumentError("restore: lane " + std::to_string(lane) +
                          " is not in the snapshot; ask for lanes that it holds");
    }
  }
  if (wanted.empty()) return;
  use->forget_stops();
  use->core->restore(*kept.number, wanted, wanted);
}

void Fleet::fork(uint32_t lane, std::span<const uint32_t> targets) {
  Impl::Use use(impl_.get());
  use->check_lanes({&lane, 1}, "fork");
  std::vector<u32> to = use->distinct(targets, "fork");
  std::erase(to, lane);
  if (to.empty()) return;
  Snapshot::Impl kept;  // released when this call ends, even by an exception
  kept.number = use->core->save(std::span(&lane, 1));
  kept.core = use->core;
  use->forget_stops();
  use->core->restore(*kept.number, std::vector<u32>(to.size(), lane), to);
}

void Fleet::Impl::end_transaction(bool restore, const char* what) {
  if (options.memory_policy != MemoryPolicy::transactional) {
    throw StateError(std::string(what) +
                     " is for fleets with memory policy transactional; make the fleet with it, or use snapshot()");
  }
  if (in_handler()) throw StateError(std::string(what) + " ends a transaction; call it when the run has ended");
  if (!transaction) return;
  if (restore) {
    forget_stops();
    core->restore(*transaction, {}, {});
  }
  const u64 number = *std::exchange(transaction, std::nullopt);
  core->backend->drop_snapshot(number);
  if (core->processes) core->processes->dropped(number);
}

void Fleet::commit() { Impl::Use(impl_.get())->end_transaction(false, "commit()"); }
void Fleet::rollback() { Impl::Use(impl_.get())->end_transaction(true, "rollback()"); }

}  // namespace myriarm
