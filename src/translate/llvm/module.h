// SPDX-License-Identifier: Apache-2.0
// What the module with LLVM in it offers to translator.cpp, which loads it.
#pragma once

#include <cstddef>

#include "myriarm/version.h"
#include "translate/translator.h"

namespace myriarm::translate {

constexpr const char* kModuleName = "myriarm_translator.so";
constexpr const char* kMakeTranslatorName = "myriarm_make_translator";

/// Tells a module of another build: it knows another LaneState.
struct ModuleCaller {
  const char* version;  // MYRIARM_VERSION
  size_t lane_state_size;
};

/// As make_translator(); the caller owns the result.
using MakeTranslator = Translator*(const ModuleCaller& caller, const SlowPaths& slow,
                                   std::shared_ptr<RegionStore> store, std::string& why);

}  // namespace myriarm::translate

extern "C" myriarm::translate::MakeTranslator myriarm_make_translator;
// The bitcode of host_rows.cpp.
extern "C" const myriarm::u8 kMyriarmRowsBegin[], kMyriarmRowsEnd[];
