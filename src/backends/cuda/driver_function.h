// SPDX-License-Identifier: Apache-2.0
// The driver's functions are looked up at run time, so that the program starts on a machine without a driver.
#pragma once

namespace myriarm::cuda {

/// The address of the driver's function of this name. Throws DeviceError if the driver has none.
void* driver_function(const char* name);

template <class Function>
void find_driver_function(Function*& function, const char* name) {
  function = reinterpret_cast<Function*>(driver_function(name));
}

}  // namespace myriarm::cuda
