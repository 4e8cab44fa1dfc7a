// SPDX-License-Identifier: Apache-2.0
// Sections and symbols of ELF files: what good files name, and that damaged tables only mean fewer names.
#include <gtest/gtest.h>

#include <string>

#include "elf_builder.h"
#include "myriarm/linux.h"

namespace myriarm {
namespace {

using test::ElfFile;
using test::program_of;

constexpr size_t kTables = 0x3000;  // where the tables below begin in the file
constexpr size_t kStrings = kTables, kSymbols = kTables + 0x100, kHeaders = kTables + 0x200;

/// A program of three words with sections .text and .bss, and symbols in no order.
std::vector<uint8_t> file_with_names() {
  ElfFile file = program_of({1, 2, 3});
  const std::string strings("\0.text\0main\0next\0$x\0file.c\0gone\0", 33);
  auto name = [&](const char* text) { return static_cast<uint32_t>(strings.find(std::string("\0", 1) + text) + 1); };
  auto symbol = [&](const char* text, unsigned type, uint16_t section, uint64_t address, uint64_t size) {
    return Elf64_Sym{name(text), static_cast<unsigned char>(type), 0, section, address, size};
  };
  const std::vector<Elf64_Sym> symbols = {
      {},
      symbol("next", STT_FUNC, 1, 0x401008, 4),
      symbol("main", STT_FUNC, 1, 0x401000, 8),
      symbol("$x", STT_NOTYPE, 1, 0x401000, 0),      // says that code begins
      symbol("file.c", STT_FILE, SHN_ABS, 0, 0),     // is no address
      symbol("gone", STT_NOTYPE, SHN_UNDEF, 0, 0),   // is in another file
      symbol(".text", STT_SECTION, 1, 0x401000, 0),  // is the section
  };
  const std::vector<Elf64_Shdr> sections = {
      {},
      {name(".text"), SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x401000, ElfFile::kContents, 12, 0, 0, 4, 0},
      {0, SHT_NOBITS, SHF_ALLOC | SHF_EXECINSTR, 0x402000, ElfFile::kContents, 12, 0, 0, 4, 0},  // has no bytes
      {0, SHT_PROGBITS, SHF_ALLOC, 0x403000, ElfFile::kContents, 12, 0, 0, 4, 0},                // has no code
      {0, SHT_STRTAB, 0, 0, kStrings, strings.size(), 0, 0, 1, 0},
      {0, SHT_SYMTAB, 0, 0, kSymbols, symbols.size() * sizeof(Elf64_Sym), 4, 0, 8, sizeof(Elf64_Sym)},
  };
  file.header.e_shoff = kHeaders;
  file.header.e_shentsize = sizeof(Elf64_Shdr);
  file.header.e_shnum = static_cast<uint16_t>(sections.size());
  file.header.e_shstrndx = 4;
  std::vector<uint8_t> bytes = file.bytes();
  bytes.resize(kHeaders + sections.size() * sizeof(Elf64_Shdr));
  std::memcpy(bytes.data() + kStrings, strings.data(), strings.size());
  std::memcpy(bytes.data() + kSymbols, symbols.data(), symbols.size() * sizeof(Elf64_Sym));
  std::memcpy(bytes.data() + kHeaders, sections.data(), sections.size() * sizeof(Elf64_Shdr));
  return bytes;
}

TEST(ElfNames, AreSectionsWithCodeAndSymbolsInOrder) {
  const std::vector<uint8_t> file = file_with_names();
  const ElfNames names = elf_names(file, parse_elf(file, "good").bias);
  ASSERT_EQ(names.code.size(), 1u);
  EXPECT_EQ(names.code[0].name, ".text");
  EXPECT_EQ(names.code[0].address, 0x401000u);
  ASSERT_EQ(names.code[0].bytes.size(), 12u);
  EXPECT_EQ(names.code[0].bytes[4], 2);
  ASSERT_EQ(names.symbols.size(), 2u);
  EXPECT_EQ(names.symbols[0].name, "main");
  EXPECT_EQ(names.symbols[0].address, 0x401000u);
  EXPECT_EQ(names.symbols[0].size, 8u);
  EXPECT_EQ(names.symbols[1].name, "next");
  EXPECT_EQ(names.symbols[1].address, 0x401008u);
}

TEST(ElfNames, AreWhereTheProgramIs) {
  const std::vector<uint8_t> file = file_with_names();
  const ElfNames names = elf_names(file, 0x10000000);
  EXPECT_EQ(names.code.at(0).address, 0x10401000u);
  EXPECT_EQ(names.symbols.at(1).address, 0x10401008u);
}

TEST(ElfNames, AFileWithoutThemHasNone) {
  const ElfNames names = elf_names(program_of({1}).bytes());
  EXPECT_TRUE(names.code.empty());
  EXPECT_TRUE(names.symbols.empty());
}

TEST(ElfNames, EveryDamageAndEveryTruncationLeavesSomeOut) {
  const std::vector<uint8_t> good = file_with_names();
  for (size_t size = 0; size <= good.size(); size++) {
    // A copy of exactly this size, so that the sanitizers see a step beyond it.
    const std::vector<uint8_t> file(good.begin(), good.begin() + static_cast<ptrdiff_t>(size));
    EXPECT_LE(elf_names(file).code.size(), 1u);
  }
  for (size_t at = 0; at < good.size(); at += at == sizeof(Elf64_Ehdr) ? kTables - at : 1) {
    for (const uint8_t value : {0x00, 0x7f, 0x80, 0xff}) {
      std::vector<uint8_t> file = good;
      file[at] = value;
      size_t listed = 0;
      for (const ElfSection& section : elf_names(file).code) listed += section.bytes.size();
      EXPECT_LE(listed, file.size());
    }
  }
}

TEST(ElfNames, BytesAreListedOnce) {
  std::vector<uint8_t> file = file_with_names();
  // Every section is that of the code, and as long as the file.
  Elf64_Shdr text;
  std::memcpy(&text, file.data() + kHeaders + sizeof text, sizeof text);
  text.sh_offset = 0;
  text.sh_size = file.size();
  for (size_t i = 0; i < 6; i++) std::memcpy(file.data() + kHeaders + i * sizeof text, &text, sizeof text);
  EXPECT_EQ(elf_names(file).code.size(), 1u);
}

}  // namespace
}  // namespace myriarm
