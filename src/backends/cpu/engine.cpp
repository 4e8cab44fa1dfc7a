// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/engine.h"

#include "backends/cpu/interpreter/interpreter.h"
#include "backends/cpu/stepper/stepper.h"

namespace myriarm::cpu {

const EngineEntry& engine_entry(Engine engine) {
  static constexpr EngineEntry kInterpreter = {run_interpreter}, kStepper = {run_stepper};
  return engine == Engine::stepper ? kStepper : kInterpreter;
}

}  // namespace myriarm::cpu
