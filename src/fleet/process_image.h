// SPDX-License-Identifier: Apache-2.0
// What a program that is a Linux process begins with, beside its pages: its ProcessFacts and the words of its kernel pages.
#pragma once

#include "backends/backend.h"

namespace myriarm {

/// Adds them to `made`, the image of `program`. The window of the image must be set.
void add_process(Image& image, ImageProgram& made, const Program& program, const ProcessOptions& options);

}  // namespace myriarm
