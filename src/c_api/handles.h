// SPDX-License-Identifier: Apache-2.0
// Handles of the C API. A handle is a number with the type of a pointer. The library looks it up and never dereferences
// it, and uses no number twice, so that it can refuse a handle that was freed or is of another type.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "myriarm-c/myriarm.h"
#include "myriarm/error.h"
#include "myriarm/linux.h"

namespace myriarm::c_api {

struct ProgramObject {
  ElfImage image;  ///< of raw machine code it has only `program`
  bool is_elf = false;
  uint64_t memory = 0;  ///< bytes of memory of a fleet whose options give none
};

struct FleetObject {
  std::optional<Fleet> own;                 ///< made by myriarm_fleet_create()
  std::unique_ptr<LinuxFleet> linux_fleet;  ///< made by myriarm_linux_create(), in place of `own`
  std::mutex linux_calls;                   ///< locked by each call of linux_fleet, which has no check of its own

  Fleet& fleet() { return linux_fleet ? linux_fleet->fleet() : *own; }
};

/// A number that no handle has had before.
uintptr_t next_handle();

template <class Handle, class Object>
class Registry {
 public:
  explicit Registry(const char* what, const char* maker) : what_(what), maker_(maker) {}

  Handle* add(std::shared_ptr<Object> object) {
    std::lock_guard lock(mutex_);
    // A handle is a number and never dereferenced.
    auto* handle = reinterpret_cast<Handle*>(next_handle());  // NOLINT(performance-no-int-to-ptr)
    objects_.emplace(handle, std::move(object));
    return handle;
  }
  /// The object of a handle; it stays alive while the caller uses it, even if another thread frees the handle. Throws
  /// ArgumentError.
  std::shared_ptr<Object> find(const Handle* handle) {
    std::lock_guard lock(mutex_);
    auto found = objects_.find(handle);
    if (found == objects_.end()) refuse(handle);
    return found->second;
  }
  /// Removes a handle, and returns its object. Throws ArgumentError.
  std::shared_ptr<Object> take(const Handle* handle) {
    std::lock_guard lock(mutex_);
    auto found = objects_.find(handle);
    if (found == objects_.end()) refuse(handle);
    std::shared_ptr<Object> object = std::move(found->second);
    objects_.erase(found);
    return object;
  }

 private:
  [[noreturn]] void refuse(const Handle* handle) const {
    throw ArgumentError(std::string("the ") + what_ + (handle == nullptr ? " is NULL" : " was freed or never made") +
                        "; give one that " + maker_ + " made");
  }
  const char *what_, *maker_;
  std::mutex mutex_;
  std::unordered_map<const Handle*, std::shared_ptr<Object>> objects_;
};

Registry<myriarm_program, ProgramObject>& programs();
Registry<myriarm_fleet, FleetObject>& fleets();

}  // namespace myriarm::c_api
