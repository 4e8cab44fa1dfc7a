// SPDX-License-Identifier: Apache-2.0
// Makes small well-formed ELF files, which tests then damage.
#pragma once

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace myriarm::test {

/// An ELF file: the header, the program headers, then the contents at the offset that the test chooses.
struct ElfFile {
  Elf64_Ehdr header = {};
  std::vector<Elf64_Phdr> segments;
  std::vector<uint8_t> contents;  ///< at kContents of the file
  static constexpr uint64_t kContents = 0x1000;

  ElfFile() {
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_EXEC;
    header.e_machine = EM_AARCH64;
    header.e_version = EV_CURRENT;
    header.e_ehsize = sizeof(Elf64_Ehdr);
    header.e_phoff = sizeof(Elf64_Ehdr);
    header.e_phentsize = sizeof(Elf64_Phdr);
  }
  Elf64_Phdr& add(uint32_t type, uint32_t flags, uint64_t offset, uint64_t address, uint64_t file_size,
                  uint64_t memory_size) {
    segments.push_back({type, flags, offset, address, address, file_size, memory_size, 0x1000});
    return segments.back();
  }
  std::vector<uint8_t> bytes() const {
    Elf64_Ehdr first = header;
    if (first.e_phnum == 0) first.e_phnum = static_cast<uint16_t>(segments.size());
    std::vector<uint8_t> file(kContents + contents.size());
    std::memcpy(file.data(), &first, sizeof first);
    std::memcpy(file.data() + sizeof first, segments.data(), segments.size() * sizeof(Elf64_Phdr));
    std::copy(contents.begin(), contents.end(), file.begin() + kContents);
    return file;
  }
};

/// A program of these instruction words at 0x400000 (readable, executable, with the headers before them: code is at
/// 0x401000) and a page of data at 0x410000 (readable, writable), followed by 0x1800 zero bytes.
inline ElfFile program_of(const std::vector<uint32_t>& words) {
  ElfFile file;
  uint64_t code = words.size() * 4;
  file.contents.resize(code);
  std::memcpy(file.contents.data(), words.data(), code);
  for (int i = 0; i < 0x1000; i++) file.contents.push_back(static_cast<uint8_t>(i));
  file.header.e_entry = 0x401000;
  file.add(PT_LOAD, PF_R | PF_X, 0, 0x400000, ElfFile::kContents + code, ElfFile::kContents + code);
  file.add(PT_LOAD, PF_R | PF_W, ElfFile::kContents + code, 0x410000, 0x1000, 0x2800);
  return file;
}

}  // namespace myriarm::test
