// SPDX-License-Identifier: Apache-2.0
// The version of the library.
#pragma once

#define MYRIARM_VERSION "0.1.0"
