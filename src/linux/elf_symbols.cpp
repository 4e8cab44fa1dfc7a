// SPDX-License-Identifier: Apache-2.0
// Sections and symbols of an ELF file, for people who read its code. Running a program needs neither, so a table that is
// missing or damaged is no error: what does not lie inside the file is left out.
#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "myriarm/linux.h"

namespace myriarm {
namespace {

/// Longer names are no help to a reader, and a hostile file could have a million of them.
constexpr size_t kLongestName = 4096;

class SectionReader {
 public:
  SectionReader(std::span<const uint8_t> file, uint64_t bias) : file_(file), bias_(bias) {}

  ElfNames read() {
    const std::optional<Elf64_Ehdr> header = at<Elf64_Ehdr>(0);
    if (!header || header->e_shentsize != sizeof(Elf64_Shdr)) return {};
    for (size_t i = 0; i < header->e_shnum; i++) {
      const std::optional<Elf64_Shdr> section = at<Elf64_Shdr>(header->e_shoff, i);
      if (!section) break;
      sections_.push_back(*section);
    }
    for (const Elf64_Shdr& section : sections_) {
      if (section.sh_type == SHT_SYMTAB) add_symbols(section);
      else add_code(section, header->e_shstrndx);
    }
    auto by_address = [](const auto& a, const auto& b) { return a.address < b.address; };
    std::stable_sort(names_.code.begin(), names_.code.end(), by_address);
    std::stable_sort(names_.symbols.begin(), names_.symbols.end(), by_address);
    return std::move(names_);
  }

 private:
  /// Element `index` of an array in the file, if the file has it.
  template <class T>
  std::optional<T> at(uint64_t offset, uint64_t index = 0) const {
    if (offset > file_.size() || index >= (file_.size() - offset) / sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, file_.data() + offset + index * sizeof(T), sizeof value);
    return value;
  }

  bool is_in_file(const Elf64_Shdr& section) const {
    return section.sh_type != SHT_NOBITS && section.sh_offset <= file_.size() &&
           section.sh_size <= file_.size() - section.sh_offset;
  }

  /// The text at an offset of a string table; empty if there is none.
  std::string_view name(uint32_t table, uint32_t offset) const {
    if (table >= sections_.size()) return {};
    const Elf64_Shdr& strings = sections_[table];
    if (strings.sh_type != SHT_STRTAB || !is_in_file(strings) || offset >= strings.sh_size) return {};
    const char* text = reinterpret_cast<const char*>(file_.data()) + strings.sh_offset + offset;
    return {text, strnlen(text, std::min<size_t>(strings.sh_size - offset, kLongestName))};
  }

  void add_code(const Elf64_Shdr& section, uint32_t names) {
    constexpr uint64_t kCode = SHF_ALLOC | SHF_EXECINSTR;
    if ((section.sh_flags & kCode) != kCode || !is_in_file(section) || section.sh_size == 0) return;
    // Otherwise a small file could have the same bytes listed a thousand times.
    code_bytes_ += section.sh_size;
    if (code_bytes_ > file_.size()) return;
    names_.code.push_back(
        {name(names, section.sh_name), bias_ + section.sh_addr, file_.subspan(section.sh_offset, section.sh_size)});
  }

  void add_symbols(const Elf64_Shdr& table) {
    if (!is_in_file(table)) return;
    for (uint64_t i = 0; i < table.sh_size / sizeof(Elf64_Sym); i++) {
      const std::optional<Elf64_Sym> symbol = at<Elf64_Sym>(table.sh_offset, i);
      if (!symbol || symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= SHN_LORESERVE) continue;
      const unsigned type = ELF64_ST_TYPE(symbol->st_info);
      if (type != STT_NOTYPE && type != STT_OBJECT && type != STT_FUNC && type != STT_GNU_IFUNC) continue;
      const std::string_view text = name(table.sh_link, symbol->st_name);
      if (text.empty() || text[0] == '$') continue;  // $x and $d say where code and data begin
      names_.symbols.push_back({text, bias_ + symbol->st_value, symbol->st_size});
    }
  }

  std::span<const uint8_t> file_;
  uint64_t bias_;
  std::vector<Elf64_Shdr> sections_;
  uint64_t code_bytes_ = 0;
  ElfNames names_;
};

}  // namespace

ElfNames elf_names(std::span<const uint8_t> file, uint64_t bias) { return SectionReader(file, bias).read(); }

}  // namespace myriarm
