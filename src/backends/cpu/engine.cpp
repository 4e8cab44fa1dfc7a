// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/engine.h"

#include "backends/cpu/interpreter/interpreter.h"
#include "backends/cpu/stepper/stepper.h"

namespace myriarm::cpu {

const EngineEntry& engine_entry(Engine engine) {
  static constexpr EngineEntry kInterpreter = {run_interpreter}, kStepper = {run_stepper},
                               kTranslated = {run_translated};
  switch (engine) {
    case Engine::interpreter: return kInterpreter;
    case Engine::stepper: return kStepper;
    case Engine::translate: return kTranslated;
    case Engine::automatic: break;  // the fleet has chosen
  }
  return kInterpreter;
}

const EngineEntry& changing_engine_entry() {
  static constexpr EngineEntry kChanging = {run_translated_changing};
  return kChanging;
}

}  // namespace myriarm::cpu
