// SPDX-License-Identifier: Apache-2.0
// What every function of the C API does with its arguments and errors: it turns exceptions into a status and a
// sentence, reads and writes structs no further than the caller's struct_size, and refuses NULL pointers.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "myriarm-c/myriarm.h"
#include "myriarm/error.h"

namespace myriarm::c_api {

/// Stores the exception that is being handled as this thread's last error, and returns its status.
myriarm_status record_exception() noexcept;

/// Calls work() and returns its status; no exception leaves this function.
template <class Work>
myriarm_status guarded(Work work) noexcept {
  try {
    work();
    return MYRIARM_OK;
  } catch (...) {
    return record_exception();
  }
}

/// The object that an argument points to; `what` is the argument's name in the header. Throws ArgumentError for NULL.
template <class T>
T& required(T* pointer, const char* what) {
  if (pointer == nullptr) throw ArgumentError(std::string(what) + " is NULL; it must point to something");
  return *pointer;
}

/// `count` elements from `first` on. Throws ArgumentError if it is NULL and the count is not 0.
template <class T>
std::span<T> span_of(T* first, uint64_t count, const char* what) {
  if (count != 0) (void)required(first, what);
  return {first, count};
}

/// The caller's struct of options, in the layout of this version of the library. Members that the caller's version
/// lacks are 0; for NULL all members are 0. Throws ArgumentError if the caller sets a member that this version lacks.
template <class T>
T read_struct(const T* given, const char* what) {
  T known = {};
  if (given == nullptr) return known;
  const uint64_t size = given->struct_size;
  if (size < sizeof size) {
    throw ArgumentError(std::string(what) + ": struct_size is " + std::to_string(size) +
                        "; set it to the sizeof of the struct");
  }
  std::memcpy(&known, given, std::min<uint64_t>(size, sizeof known));
  if (size > sizeof known) {
    if (size > 4096)
      throw ArgumentError(std::string(what) + ": struct_size is " + std::to_string(size) +
                          "; set it to the sizeof of the struct");
    const auto* bytes = reinterpret_cast<const uint8_t*>(given);
    if (std::any_of(bytes + sizeof known, bytes + size, [](uint8_t byte) { return byte != 0; })) {
      throw ArgumentError(std::string(what) + ": a member is set that version " + std::string(myriarm_version()) +
                          " of the library does not have; leave it 0, or use a later version");
    }
  }
  return known;
}

/// Throws ArgumentError if a struct cannot be filled in; called before the work is done.
template <class T>
void check_output(const T* given, const char* what) {
  if (required(given, what).struct_size < sizeof given->struct_size || given->struct_size > 4096) {
    throw ArgumentError(std::string(what) + ": struct_size is " + std::to_string(given->struct_size) +
                        "; set it to the sizeof of the struct");
  }
}
/// Fills in the members that the caller's struct has; those that only a later version has become 0.
template <class T>
void write_struct(T* given, T values) {
  const uint64_t size = given->struct_size;
  values.struct_size = size;
  std::memset(static_cast<void*>(given), 0, size);
  std::memcpy(static_cast<void*>(given), &values, std::min<uint64_t>(size, sizeof values));
}

}  // namespace myriarm::c_api
