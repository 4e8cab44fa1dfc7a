// SPDX-License-Identifier: Apache-2.0
// Decode functions of the forms in crypto.inc.
#pragma once

#include "isa/forms/fields.h"
