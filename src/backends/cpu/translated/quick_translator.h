// SPDX-License-Identifier: Apache-2.0
// The first tier of translation: machine code that is copied together from stencils, in the time in which the interpreter
// runs some ten thousand instructions. docs/design/copied-code.md.
#pragma once

#include <memory>
#include <string>

#include "backends/cpu/translated/code_memory.h"
#include "translate/translator.h"

namespace myriarm::cpu {

class QuickTranslator {
 public:
  /// Whether this build has stencils.
  static bool is_available();

  /// The addresses of the entry points at which a region may go on.
  struct Area {
    u64 address, bytes;
  };
  /// As Translator::translate(); is_available() must be true.
  std::unique_ptr<translate::Region> translate(u64 entry, const translate::FetchWord& fetch, const Area& area,
                                               const translate::RegionLimits& limits, std::string& why);

 private:
  CodeMemory memory_;
};

}  // namespace myriarm::cpu
