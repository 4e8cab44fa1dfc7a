// SPDX-License-Identifier: Apache-2.0
// Threads that make regions: from guest code to PTX, and from that to machine code, which the driver's cache keeps.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "translate/device_translator.h"

namespace myriarm::cuda {

class RegionMakers {
 public:
  /// Threads begin when there is work for them, `threads` of them at most. The device must be current, here alone.
  RegionMakers(std::unique_ptr<translate::DeviceTranslator> translator, translate::FetchWord fetch, unsigned threads);
  /// Drops what nobody has begun, and waits for the rest: at most for as long as one region takes.
  ~RegionMakers();
  RegionMakers(const RegionMakers&) = delete;

  /// Asks for a region that begins at a guest address.
  void ask(u64 pc);
  struct Made {
    u64 pc;
    std::unique_ptr<translate::DeviceRegion> region;  // null: `why` says why there is none, as part of a sentence
    std::string why;
  };
  /// What has come since the last call.
  std::vector<Made> take();
  /// How many were asked for and have not been taken.
  u64 open() const;
  u64 threads() const { return most_threads_; }

 private:
  void work();
  Made make(u64 pc);

  const std::unique_ptr<translate::DeviceTranslator> translator_;
  const translate::FetchWord fetch_;
  const unsigned most_threads_;
  void* context_ = nullptr;  // a CUcontext
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<u64> waiting_;
  std::vector<Made> made_;
  u64 open_ = 0;
  unsigned idle_ = 0;
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace myriarm::cuda
