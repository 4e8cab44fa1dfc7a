// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/translated/region_makers.h"

#include <utility>

#include "backends/cuda/translated/driver_api.h"
#include "backends/cuda/translated/linked_regions.h"

namespace myriarm::cuda {

RegionMakers::RegionMakers(std::unique_ptr<translate::DeviceTranslator> translator, translate::FetchWord fetch,
                           unsigned threads)
    : translator_(std::move(translator)), fetch_(std::move(fetch)), most_threads_(threads) {
  CUcontext context = nullptr;
  check(driver_api().ctx_get_current(&context), "finding the device's context");
  context_ = context;
}

RegionMakers::~RegionMakers() {
  {
    std::lock_guard lock(mutex_);
    ends_ = true;
    waiting_.clear();
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void RegionMakers::ask(u64 pc) {
  std::lock_guard lock(mutex_);
  waiting_.push_back(pc);
  open_++;
  if (idle_ < waiting_.size() && threads_.size() < most_threads_) threads_.emplace_back([this] { work(); });
  changed_.notify_one();
}

std::vector<RegionMakers::Made> RegionMakers::take() {
  std::lock_guard lock(mutex_);
  open_ -= made_.size();
  return std::exchange(made_, {});
}

u64 RegionMakers::open() const {
  std::lock_guard lock(mutex_);
  return open_;
}

RegionMakers::Made RegionMakers::make(u64 pc) {
  Made made = {pc, nullptr, ""};
  try {
    made.region = translator_->translate(pc, fetch_, {}, "region_" + std::to_string(pc), made.why);
    if (made.region != nullptr) compile_region(*made.region);
  } catch (const std::exception& error) {
    made.region = nullptr;
    made.why = error.what();
  }
  return made;
}

void RegionMakers::work() {
  const CUresult selected = driver_api().ctx_set_current(static_cast<CUcontext>(context_));
  std::unique_lock lock(mutex_);
  for (;;) {
    idle_++;
    changed_.wait(lock, [this] { return ends_ || !waiting_.empty(); });
    idle_--;
    if (ends_) return;
    const u64 pc = waiting_.front();
    waiting_.pop_front();
    lock.unlock();
    Made made = selected == CUDA_SUCCESS ? make(pc) : Made{pc, nullptr, "the device cannot be selected"};
    lock.lock();
    made_.push_back(std::move(made));
  }
}

}  // namespace myriarm::cuda
