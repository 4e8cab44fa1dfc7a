// SPDX-License-Identifier: Apache-2.0
#include "folder_reader.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "input_file.h"

namespace myriarm::cli {
namespace {

/// For files of a disk or a server, which answer several at a time. Files in memory need few.
constexpr unsigned kMostThreads = 8;

}  // namespace

FolderReader::FolderReader(const char* option, std::string folder, std::vector<std::string> names,
                           const Options& options)
    : option_(option), folder_(std::move(folder)), names_(std::move(names)), options_(options) {}

FolderReader::~FolderReader() {
  {
    std::lock_guard lock(mutex_);
    ended_ = true;
    for_readers_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
}

std::optional<FolderReader::File> FolderReader::take() {
  if (taken_ == names_.size()) return std::nullopt;
  start();
  std::unique_lock lock(mutex_);
  for_taker_.wait(lock, [&] { return ready_ != 0; });
  Slot slot = std::move(slots_.front());
  slots_.pop_front();
  ready_--;
  ready_bytes_ -= slot.bytes.size();
  held_ -= slot.counted;
  for_readers_.notify_all();
  lock.unlock();
  File file{std::move(names_[taken_++]), std::move(slot.bytes)};
  if (slot.error) std::rethrow_exception(slot.error);
  return file;
}

bool FolderReader::is_ready(uint64_t bytes, std::chrono::milliseconds patience) {
  start();
  // The threads may hold less than is asked for.
  bytes = std::min(bytes, options_.most_bytes / 2);
  std::unique_lock lock(mutex_);
  return for_taker_.wait_for(lock, patience, [&] {
    return (ready_ != 0 && ready_bytes_ >= bytes) || ready_ == names_.size() - taken_ ||
           ready_ >= options_.most_files / 2;
  });
}

uint64_t FolderReader::ready() const {
  std::lock_guard lock(mutex_);
  return ready_;
}

uint64_t FolderReader::held_bytes() const {
  std::lock_guard lock(mutex_);
  return held_;
}

void FolderReader::start() {
  if (!threads_.empty()) return;
  unsigned threads = options_.threads;
  if (threads == 0) threads = std::clamp(std::thread::hardware_concurrency(), 2u, kMostThreads);
  for (uint64_t i = 0; i < std::min<uint64_t>(threads, names_.size()); i++) {
    threads_.emplace_back([this] { read_files(); });
  }
}

void FolderReader::read_files() {
  std::unique_lock lock(mutex_);
  while (true) {
    for_readers_.wait(lock, [&] {
      return ended_ || begun_ == names_.size() || slots_.empty() ||
             (held_ < options_.most_bytes && slots_.size() < options_.most_files);
    });
    if (ended_ || begun_ == names_.size()) return;
    Slot& slot = slots_.emplace_back();  // stays where it is until it is taken
    const std::string& name = names_[begun_++];
    lock.unlock();
    try {
      read_one(name, slot);
    } catch (...) {
      slot.error = std::current_exception();
    }
    lock.lock();
    held_ += slot.bytes.size() - slot.counted;  // the file may have changed
    slot.counted = slot.bytes.size();
    slot.done = true;
    const uint64_t before = ready_;
    while (ready_ < slots_.size() && slots_[ready_].done) ready_bytes_ += slots_[ready_++].bytes.size();
    if (ready_ != before) for_taker_.notify_one();
  }
}

void FolderReader::read_one(const std::string& name, Slot& slot) {
  InputFile file(option_, (std::filesystem::path(folder_) / name).string());
  const uint64_t size = file.size().value_or(0);
  {
    std::unique_lock lock(mutex_);
    for_readers_.wait(lock, [&] { return ended_ || held_ + size <= options_.most_bytes || &slot == &slots_.front(); });
    if (ended_) return;
    slot.counted = size;
    held_ += size;
  }
  slot.bytes = file.read_all();
}

}  // namespace myriarm::cli
