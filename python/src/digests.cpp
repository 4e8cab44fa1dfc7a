// SPDX-License-Identifier: Apache-2.0
#include "digests.h"

#include <algorithm>
#include <utility>

#include "myriarm/likeness.h"

namespace myriarm::python {
namespace {

/// An array that owns the digests.
nb::object array_of(std::vector<InputDigest> digests) {
  auto owned = std::make_unique<std::vector<InputDigest>>(std::move(digests));
  const void* data = owned->data();
  const size_t bytes = owned->size() * sizeof(InputDigest);
  nb::capsule owner(owned.release(), [](void* p) noexcept { delete static_cast<std::vector<InputDigest>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, const uint8_t, nb::ndim<1>>(data, {bytes}, owner));
}

}  // namespace

void DigestLists::start(bool ordered, bool group, uint64_t held_bytes, uint64_t instructions) {
  worker_.start(
      ordered, group, held_bytes, instructions, [this] { clear(); },
      [this, group](const QueueOptions& options) {
        BatchSource source = [this](InputBatch& batch, bool idle) { return next(batch, idle); };
        if (group) source = grouped(std::move(source));
        return worker_.queue().digest(
            source, [this](std::span<const InputDigest> digests) { return take(digests); }, options);
      });
}

bool DigestLists::has_room() {
  worker_.refuse_if_inherited();
  std::vector<Batch> dropped;
  std::lock_guard lock(worker_.mutex);
  dropped.swap(read_);
  const uint64_t for_lanes = kMostInputsOfLane * worker_.fleet().lanes();
  const uint64_t most = worker_.groups() ? std::max(for_lanes, GroupOptions().inputs) : for_lanes;
  return !worker_.has_all_inputs() && waiting_inputs_ < most && waiting_bytes_ < kMostBytes;
}

void DigestLists::push(uint64_t first_number, Bytes bytes, Offsets offsets, bool as_file) {
  std::lock_guard lock(worker_.mutex);
  waiting_inputs_ += offsets.size();
  waiting_bytes_ += bytes.size();
  waiting_.push_back({first_number, std::move(bytes), std::move(offsets), as_file});
  if (!worker_.groups()) offer();
}

void DigestLists::offer() {
  offered_ = waiting_.size();
  worker_.changed->notify_all();
}

nb::object DigestLists::pop(bool wait) {
  worker_.refuse_if_inherited();
  std::vector<InputDigest> digests;
  std::vector<Batch> dropped;
  bool ended = false;
  {
    nb::gil_scoped_release free;
    std::unique_lock lock(worker_.mutex);
    if (wait) {
      offer();
      worker_.changed->wait_for(lock, QueueWorker::kPatience,
                                [&] { return !digests_.empty() || worker_.has_ended() || !read_.empty(); });
    }
    digests.swap(digests_);
    dropped.swap(read_);
    ended = worker_.has_ended();
    worker_.changed->notify_all();
  }
  if (!digests.empty()) return array_of(std::move(digests));
  return ended ? worker_.raise_or_false() : nb::none();
}

void DigestLists::clear() {
  waiting_.clear();
  current_.reset();
  read_.clear();
  digests_.clear();
  waiting_inputs_ = waiting_bytes_ = offered_ = 0;
  group_ends_.clear();
}

Supply DigestLists::next(InputBatch& batch, bool idle) {
  std::unique_lock lock(worker_.mutex);
  if (current_) {
    read_.push_back(std::move(*current_));
    current_.reset();
    worker_.changed->notify_all();
  }
  if (group_ends_.pass_end()) return Supply::later;
  if (idle) {
    worker_.changed->wait_for(lock, QueueWorker::kPatience, [&] { return offered_ != 0 || worker_.has_all_inputs(); });
  }
  if (offered_ == 0) return worker_.has_all_inputs() ? Supply::ended : Supply::later;
  current_ = std::move(waiting_.front());
  waiting_.pop_front();
  offered_--;
  group_ends_.count_taken();
  waiting_inputs_ -= current_->offsets.size();
  waiting_bytes_ -= current_->bytes.size();
  batch = {current_->first_number,
           {current_->bytes.data(), current_->bytes.size()},
           {current_->offsets.data(), current_->offsets.size()},
           current_->as_file};
  return Supply::input;
}

/// Waits until Python has taken digests, so that they do not pile up.
bool DigestLists::take(std::span<const InputDigest> digests) {
  std::unique_lock lock(worker_.mutex);
  worker_.changed->wait(lock, [&] { return digests_.size() < kMostDigests || worker_.is_abandoned(); });
  if (worker_.is_abandoned()) return false;
  digests_.insert(digests_.end(), digests.begin(), digests.end());
  worker_.changed->notify_all();
  return true;
}

void bind_digests(nb::module_& module) {
  module.def(
      "output_hash",
      [](Bytes bytes) {
        return output_hash({bytes.data(), bytes.size()});
      },
      nb::arg("bytes"));
}

}  // namespace myriarm::python
