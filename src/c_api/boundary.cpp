// SPDX-License-Identifier: Apache-2.0
#include "c_api/boundary.h"

#include <cstdio>
#include <new>

#include "myriarm/stop.h"
#include "myriarm/version.h"

namespace myriarm::c_api {
namespace {

// An array of fixed size, because the host may have no memory left when the sentence is stored.
thread_local char last_error[2048] = "";

myriarm_status record(myriarm_status status, const char* sentence) {
  std::snprintf(last_error, sizeof last_error, "%s", sentence);
  return status;
}

}  // namespace

myriarm_status record_exception() noexcept {
  try {
    throw;
  } catch (const ArgumentError& error) {
    return record(MYRIARM_ARGUMENT_ERROR, error.what());
  } catch (const DeviceError& error) {
    return record(MYRIARM_DEVICE_ERROR, error.what());
  } catch (const StateError& error) {
    return record(MYRIARM_STATE_ERROR, error.what());
  } catch (const std::bad_alloc&) {
    return record(MYRIARM_NO_MEMORY, "the host has no memory left for this call; ask for less at once");
  } catch (const std::length_error&) {
    return record(MYRIARM_NO_MEMORY, "the host cannot hold as much as this call asks for; ask for less at once");
  } catch (const std::exception& error) {
    return record(MYRIARM_INTERNAL_ERROR, error.what());
  } catch (...) {
    return record(MYRIARM_INTERNAL_ERROR, "the library failed without a reason; please report it");
  }
}

}  // namespace myriarm::c_api

using namespace myriarm;

const char* myriarm_last_error() { return c_api::last_error; }
const char* myriarm_version() { return MYRIARM_VERSION; }

const char* myriarm_stop_name(uint32_t reason) {
  return reason < kStopReasons ? name(static_cast<StopReason>(reason)) : "unknown";
}
const char* myriarm_fault_name(uint32_t fault) {
  return fault <= MYRIARM_FAULT_ALIGNMENT ? name(static_cast<FaultKind>(fault)) : "unknown";
}
const char* myriarm_signal_name(uint32_t signal) {
  return signal <= MYRIARM_SIGNAL_CANCELLED ? name(static_cast<Signal>(signal)) : "unknown";
}
