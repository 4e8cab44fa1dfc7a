// SPDX-License-Identifier: Apache-2.0
// What the system calls itself: uname(2), and files of /proc.
#pragma once

#include "core/portable.h"

namespace myriarm::kernel {

/// Of struct new_utsname.
enum SystemName : u32 { kSystemItself, kNodeName, kReleaseName, kVersionName, kMachineName, kDomainName, kSystemNames };
constexpr u32 kMostNameBytes = 16;
MYR_TABLE char kSystemName[kSystemNames][kMostNameBytes] = {"Linux",          "myriarm", "6.1.0",
                                                            "#1 SMP myriarm", "aarch64", "(none)"};

}  // namespace myriarm::kernel
