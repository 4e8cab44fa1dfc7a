// SPDX-License-Identifier: Apache-2.0
// What the module with LLVM in it offers to translator.cpp, which loads it.
#pragma once

#include <cstddef>

#include "myriarm/version.h"
#include "translate/device_translator.h"
#include "translate/translator.h"

namespace myriarm::translate {

constexpr const char* kModuleName = "myriarm_translator.so";
constexpr const char* kMakeTranslatorName = "myriarm_make_translator";
constexpr const char* kMakeDeviceTranslatorName = "myriarm_make_device_translator";

/// Tells a module of another build: it knows another LaneState.
struct ModuleCaller {
  const char* version;  // MYRIARM_VERSION
  size_t lane_state_size;
};

/// As make_translator(); the caller owns the result.
using MakeTranslator = Translator*(const ModuleCaller& caller, const SlowPaths& slow,
                                   std::shared_ptr<RegionStore> store, std::string& why);
/// As make_device_translator(); the caller owns the result.
using MakeDeviceTranslator = DeviceTranslator*(const ModuleCaller& caller, const DeviceTarget& target,
                                               std::shared_ptr<RegionStore> store, std::string& why);

}  // namespace myriarm::translate

extern "C" myriarm::translate::MakeTranslator myriarm_make_translator;
extern "C" myriarm::translate::MakeDeviceTranslator myriarm_make_device_translator;
// The bitcode of host_rows.cpp, and that of device_rows.cpp if LLVM makes code for GPUs.
extern "C" const myriarm::u8 kMyriarmRowsBegin[], kMyriarmRowsEnd[];
extern "C" const myriarm::u8 kMyriarmDeviceRowsBegin[], kMyriarmDeviceRowsEnd[];
