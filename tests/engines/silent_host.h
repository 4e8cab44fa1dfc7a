// SPDX-License-Identifier: Apache-2.0
// A ProcessHost that gives each lane its number and nothing else, and takes nothing.
#pragma once

#include <gtest/gtest.h>

#include "myriarm/process.h"

namespace myriarm::test {

class SilentHost : public ProcessHost {
 public:
  GivenInput input(uint32_t lane) const override {
    GivenInput given;
    given.number = lane;
    return given;
  }
  PutOut put_out(uint32_t, unsigned, uint64_t, std::span<const uint8_t>) override { return {}; }
  void unimplemented(HostedCall& call) override { ADD_FAILURE() << "call " << call.number; }
  void before(HostedCall&) override {}
  void after(HostedCall&, const int64_t*) override {}
  void saved(uint64_t, std::span<const uint32_t>) override {}
  void restored(uint64_t, std::span<const uint32_t>, std::span<const uint32_t>) override {}
  void dropped(uint64_t) override {}
};

}  // namespace myriarm::test
