// SPDX-License-Identifier: Apache-2.0
// All of the public C++ API.
#pragma once

#include "myriarm/byte_strings.h"
#include "myriarm/error.h"
#include "myriarm/file_tree.h"
#include "myriarm/fleet.h"
#include "myriarm/inputs.h"
#include "myriarm/isa.h"
#include "myriarm/likeness.h"
#include "myriarm/linux.h"
#include "myriarm/program.h"
#include "myriarm/queue.h"
#include "myriarm/queue_rate.h"
#include "myriarm/run.h"
#include "myriarm/shared_queue.h"
#include "myriarm/snapshot.h"
#include "myriarm/stop.h"
#include "myriarm/translation_cache.h"
#include "myriarm/version.h"
