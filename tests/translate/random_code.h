// SPDX-License-Identifier: Apache-2.0
// Random code and machines that run it, for tests that compare translated code with stepping.
#pragma once

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "core/fp/context.h"
#include "core/system/registers.h"
#include "generate/generate.h"
#include "myriarm/isa.h"
#include "translate/machine.h"

namespace myriarm::translate {

constexpr u64 kPages = 24, kDataPage = 8;  // code before, data from there on; two pages of it have holes

/// Code from address 0 on: blocks, each of which ends with a branch to another one.
inline std::vector<u32> random_program(Random& random, const BlockGenerator& generator, u32 blocks,
                                       const BlockOptions& options) {
  std::vector<u32> code;
  std::vector<size_t> begins;
  for (u32 i = 0; i < blocks; i++) {
    begins.push_back(code.size());
    generator.append(random, options, code);
  }
  for (u32 i = 0; i < blocks; i++) {
    const size_t end = (i + 1 < blocks ? begins[i + 1] : code.size()) - 1;  // the HLT
    const i64 offset = static_cast<i64>(begins[random.below(blocks)]) - static_cast<i64>(end);
    code[end] = 0x14000000u | (static_cast<u32>(offset) & 0x03FFFFFF);  // B
  }
  return code;
}

inline FlatMachine random_machine(Random& random, const std::vector<u32>& code, const RegisterRoles& roles) {
  FlatMachine machine(kPages);
  std::memcpy(machine.at(0), code.data(), code.size() * 4);
  for (u64 at = kDataPage * kPageSize; at < machine.size(); at += 8) {
    const u64 value = random.edge(64);
    std::memcpy(machine.at(at), &value, 8);
  }
  for (u64 page = 0; page < kDataPage; page++) machine.protect(page, kPageReadable | kPageExecutable);
  machine.protect(kDataPage + 5, kPageReadable);
  machine.protect(kDataPage + 9, 0);
  auto address = [&] {
    const u64 in_page = random.one_in(4) ? random.below(kPageSize) : random.below(kPageSize / 16) * 16;
    const u64 tag = random.one_in(16) ? u64{0xA5} << 56 : 0;
    return tag | ((kDataPage + 1 + random.below(6)) * kPageSize + in_page);
  };
  for (u32 i = 0; i < 31; i++) {
    machine.r[i] = roles.addresses >> i & 1 ? address() : roles.offsets >> i & 1 ? random.below(64) : random.edge(64);
  }
  machine.r[roles.code] = random.below(code.size()) * 4;
  machine.r[kSlotSP] = (kDataPage + 2) * kPageSize + random.below(64) * 16;
  for (u32 i = 0; i < 64; i++) machine.v[i] = random.edge(64);
  machine.set_flags(unpack_flags(static_cast<u32>(random.below(16))));
  machine.system[static_cast<int>(SystemField::fpcr)] = random.one_in(2) ? 0 : random.next() & kFpcrMask;
  machine.system[static_cast<int>(SystemField::fpsr)] =
      random.one_in(2) ? u64{FPExc_Inexact} : random.next() & kFpsrMask;
  return machine;
}

inline std::string listing(const std::vector<u32>& code) {
  std::string text;
  for (size_t i = 0; i < code.size(); i++) {
    char address[24];
    std::snprintf(address, sizeof address, "\n%6zx  ", i * 4);
    text += address + disassemble(code[i], i * 4);
  }
  return text;
}

/// Where two machines differ.
inline std::string describe(const FlatMachine& stepped, const FlatMachine& run) {
  std::string text;
  auto field = [&](const std::string& name, u64 a, u64 b) {
    char line[120];
    std::snprintf(line, sizeof line, "\n  %-8s stepped %016llx  in regions %016llx", name.c_str(),
                  static_cast<unsigned long long>(a), static_cast<unsigned long long>(b));
    if (a != b) text += line;
  };
  for (u32 i = 0; i <= kSlotSP; i++) field("x" + std::to_string(i), stepped.r[i], run.r[i]);
  for (u32 i = 0; i < 64; i++) field("v" + std::to_string(i / 2) + (i % 2 ? " high" : " low"), stepped.v[i], run.v[i]);
  for (int i = 0; i < static_cast<int>(SystemField::count); i++) {
    field("system" + std::to_string(i), stepped.system[i], run.system[i]);
  }
  field("nzcv", pack_flags(stepped.flags()), pack_flags(run.flags()));
  field("pc", stepped.pc, run.pc);
  field("retired", stepped.retired, run.retired);
  field("stop", static_cast<u64>(stepped.stop.code), static_cast<u64>(run.stop.code));
  field("address", stepped.stop.address, run.stop.address);
  return text.empty() ? "\n  memory" : text;
}

}  // namespace myriarm::translate
