// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: decodes and disassembles arbitrary words. Besides "no crash" it checks that a word is printed as
// data exactly if it does not decode, and that the fixed bits of its row match the word.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "isa/decoder.h"
#include "myriarm/isa.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const myriarm::DecodeTable& table = myriarm::decode_table();
  for (size_t at = 0; at + 4 <= size; at += 4) {
    uint32_t word;
    std::memcpy(&word, data + at, 4);
    myriarm::Operands operands = myriarm::decode(table, word);
    if (operands.row >= myriarm::kRowCount) std::abort();
    bool undefined = operands.row == myriarm::kRowUndefined;
    if (!undefined && (word & table.patterns[operands.row].mask) != table.patterns[operands.row].value) std::abort();
    std::string text = myriarm::disassemble(word, at);
    if (text.empty() || undefined != (text.compare(0, 5, ".inst") == 0)) std::abort();
  }
  return 0;
}
