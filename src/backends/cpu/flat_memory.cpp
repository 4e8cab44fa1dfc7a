// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/flat_memory.h"

#include <unistd.h>

#include <string>

#include "myriarm/error.h"

namespace myriarm::cpu {
namespace {

u64 host_bytes() { return static_cast<u64>(sysconf(_SC_PHYS_PAGES)) * static_cast<u64>(sysconf(_SC_PAGESIZE)); }

/// The bytes of `lanes` windows. Throws DeviceError if that is more than the host has, since lanes may use all of it.
u64 checked_bytes(u64 lanes, u64 window_pages) {
  constexpr u64 kMostPages = (u64{1} << (32 - kPageFlagBits)) - 2;
  if (window_pages > kMostPages) {
    throw DeviceError("flat memory of " + std::to_string(window_pages >> 8) + " MiB for a lane is more than " +
                      std::to_string(kMostPages >> 8) + " MiB; ask for less memory or another memory policy");
  }
  const u64 most = host_bytes();
  if (window_pages > most / kPageSize / lanes) {
    throw DeviceError("flat memory of " + std::to_string(window_pages >> 8) + " MiB for each of " +
                      std::to_string(lanes) + " lanes is more than the host's " + std::to_string(most >> 20) +
                      " MiB; ask for fewer lanes, less memory or another memory policy");
  }
  return (lanes * window_pages + 1) << kPageBits;
}

}  // namespace

FlatMemory::FlatMemory(u64 lanes, u64 window_pages)
    : stride_(window_pages << kPageBits),
      array_(checked_bytes(lanes, window_pages), "flat memory; ask for fewer lanes or less memory") {}

}  // namespace myriarm::cpu
