// SPDX-License-Identifier: Apache-2.0
// Linked into a test program: if MYRIARM_TEST_TRANSLATOR is "fake", all of its fleets translate with fakes; if it is
// "eager", they translate small regions of nearly all the code that they run, before they go on, and soon larger ones; if it
// is "stencils", they copy code together and compile none.
#include <cstdlib>
#include <memory>
#include <string_view>

#include "fake_translator/fake_translator.h"

namespace {

std::unique_ptr<myriarm::test::FakeTranslation> make() {
  const char* name = std::getenv("MYRIARM_TEST_TRANSLATOR");
  if (name == nullptr) return nullptr;
  if (name == std::string_view("fake")) return std::make_unique<myriarm::test::FakeTranslation>();
  myriarm::cpu::TranslationSetup& setup = myriarm::cpu::translation_setup();
  setup.may_cache = false;
  setup.interval = 16;
  const bool compiles = name != std::string_view("stencils");
  setup.hot_for_stencils = setup.exits_for_stencils = 1;
  setup.stencil_limits.instructions = 30;
  setup.hot = compiles ? 4 : 0;
  setup.hot_in_stencils = compiles ? 2 : 0;
  setup.at_once = true;
  setup.limits.instructions = setup.limits_after_stencils.instructions = 12;
  setup.hot_for_long = 4;
  setup.followed = 0;
  setup.large_limits.instructions = 30;
  setup.longest_run = 30;
  return nullptr;
}
const std::unique_ptr<myriarm::test::FakeTranslation> for_all_fleets = make();

}  // namespace
