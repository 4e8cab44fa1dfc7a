// SPDX-License-Identifier: Apache-2.0
// Handles of the C API. A handle is a number in the shape of a pointer: it is looked up and never followed, and no
// number is given twice, so that one which was freed, or is of another type, is refused and cannot crash the process.
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
  ElfImage image;  ///< its `program` is all that there is of a raw one
  bool is_elf = false;
  uint64_t memory = 0;  ///< of a fleet that does not say
};

struct FleetObject {
  std::optional<Fleet> own;
  std::unique_ptr<LinuxFleet> linux_fleet;  ///< in place of `own`
  std::mutex linux_calls;                   ///< held by a call of linux_fleet, which has no hold of its own

  Fleet& fleet() { return linux_fleet ? linux_fleet->fleet() : *own; }
};

/// A number that no handle has had yet.
uintptr_t next_handle();

template <class Handle, class Object>
class Registry {
 public:
  explicit Registry(const char* what, const char* maker) : what_(what), maker_(maker) {}

  Handle* add(std::shared_ptr<Object> object) {
    std::lock_guard lock(mutex_);
    // A handle is a number that is never followed.
    auto* handle = reinterpret_cast<Handle*>(next_handle());  // NOLINT(performance-no-int-to-ptr)
    objects_.emplace(handle, std::move(object));
    return handle;
  }
  /// Throws ArgumentError. Who holds the object may use it while another thread frees the handle.
  std::shared_ptr<Object> find(const Handle* handle) {
    std::lock_guard lock(mutex_);
    auto found = objects_.find(handle);
    if (found == objects_.end()) refuse(handle);
    return found->second;
  }
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
    throw ArgumentError(std::string("the ") + what_ + (handle == nullptr ? " is NULL" : " was freed, or is none") +
                        "; give one that " + maker_ + " made");
  }
  const char *what_, *maker_;
  std::mutex mutex_;
  std::unordered_map<const Handle*, std::shared_ptr<Object>> objects_;
};

Registry<myriarm_program, ProgramObject>& programs();
Registry<myriarm_fleet, FleetObject>& fleets();

}  // namespace myriarm::c_api
