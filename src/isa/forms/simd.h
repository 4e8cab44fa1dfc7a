// SPDX-License-Identifier: Apache-2.0
// Decode functions of the forms in simd.inc.
#pragma once

#include "isa/forms/fields.h"
