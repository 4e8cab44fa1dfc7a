// SPDX-License-Identifier: Apache-2.0
// Runs cases of a batch in one Unicorn instance, the oracle. Unicorn 2.0.1 leaves a wrong pc after a fault and does not
// count instructions, so a code hook does both.
#pragma once

#include <unicorn/unicorn.h>

#include <memory>

#include "cases.h"

namespace myriarm::differential {

class UnicornEngine {
 public:
  explicit UnicornEngine(bool vectors);
  ~UnicornEngine();
  UnicornEngine(const UnicornEngine&) = delete;
  UnicornEngine& operator=(const UnicornEngine&) = delete;

  /// Loads the code and data of a batch.
  void load(const Batch& batch);
  /// Runs one case for at most `limit` instructions. Its memory is then in memory(), not in the result.
  State run(const Batch& batch, uint32_t lane, uint64_t limit);
  /// Whether the last run ended because the oracle refused an address for its top byte, which Linux ignores.
  bool in_top_byte() const { return in_top_byte_; }
  /// Data memory after the last run, Layout::data_bytes.
  const uint8_t* memory() const { return data_.get(); }

 private:
  void open();
  static void on_code(uc_engine*, uint64_t address, uint32_t size, void* self);
  static void on_interrupt(uc_engine*, uint32_t number, void* self);
  static bool on_invalid(uc_engine*, uc_mem_type type, uint64_t address, int size, int64_t value, void* self);
  void check(uc_err error, const char* what) const;

  struct Free {
    void operator()(uint8_t* p) const;
  };
  uc_engine* uc_ = nullptr;
  std::unique_ptr<uint8_t, Free> code_, data_;
  std::vector<Field> fields_;
  std::vector<int> registers_;
  std::vector<uint64_t> values_;  // two words a register
  std::vector<void*> pointers_;
  uint64_t loaded_ = 0;   // batches
  uint64_t entered_ = 0;  // instructions that the hook has seen begin
  uint64_t limit_ = 0;
  uint64_t last_pc_ = 0;
  bool at_limit_ = false;
  bool in_top_byte_ = false;
  int interrupt_ = -1;
  uint64_t fault_address_ = 0;
};

}  // namespace myriarm::differential
