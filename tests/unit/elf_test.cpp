// SPDX-License-Identifier: Apache-2.0
// The ELF loader: the program that it reads from good files, and its error message for each kind of bad file.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

#include "elf_builder.h"
#include "myriarm/linux.h"

namespace myriarm {
namespace {

using test::ElfFile;
using test::program_of;

constexpr uint32_t kSvc = 0xd4000001;

TEST(Elf, LoadsSegmentsEntryAndHeaders) {
  ElfFile file = program_of({kSvc, kSvc});
  ElfImage image = parse_elf(file.bytes(), "good");
  ASSERT_EQ(image.program.segments.size(), 2u);
  const Segment& code = image.program.segments[0];
  const Segment& data = image.program.segments[1];
  EXPECT_EQ(code.address, 0x400000u);
  EXPECT_EQ(code.permissions, kRead | kExecute);
  EXPECT_EQ(code.bytes.size(), 0x1008u);
  EXPECT_EQ(code.bytes[0x1000], 0x01);
  EXPECT_EQ(data.address, 0x410000u);
  EXPECT_EQ(data.permissions, kRead | kWrite);
  EXPECT_EQ(data.size, 0x2800u);
  EXPECT_EQ(data.bytes.size(), 0x1000u);
  EXPECT_EQ(data.bytes[255], 255);
  EXPECT_EQ(image.program.entry, 0x401000u);
  EXPECT_EQ(image.program_headers, 0x400000u + sizeof(Elf64_Ehdr));
  EXPECT_EQ(image.program_header_count, 2);
  EXPECT_EQ(image.break_start, 0x413000u);
  EXPECT_FALSE(image.executable_stack);
}

TEST(Elf, StackFlagsAreRead) {
  ElfFile file = program_of({kSvc});
  file.add(PT_GNU_STACK, PF_R | PF_W | PF_X, 0, 0, 0, 0);
  EXPECT_TRUE(parse_elf(file.bytes(), "good").executable_stack);
}

TEST(Elf, WritableMeansReadable) {
  ElfFile file = program_of({kSvc});
  file.segments[1].p_flags = PF_W;
  EXPECT_EQ(parse_elf(file.bytes(), "good").program.segments[1].permissions, kRead | kWrite);
}

TEST(Elf, WritableCodeIsAccepted) {
  ElfFile file = program_of({kSvc});
  file.segments[0].p_flags = PF_R | PF_W | PF_X;
  EXPECT_EQ(parse_elf(file.bytes(), "good").program.segments[0].permissions, kRead | kWrite | kExecute);
}

TEST(Elf, UnloadedHeadersHaveNoAddress) {
  ElfFile file = program_of({kSvc});
  file.segments[0].p_offset = ElfFile::kContents;
  file.segments[0].p_vaddr += ElfFile::kContents;
  file.segments[0].p_filesz = file.segments[0].p_memsz = 4;
  EXPECT_EQ(parse_elf(file.bytes(), "good").program_headers, 0u);
}

TEST(Elf, PositionIndependentProgramsAreMoved) {
  ElfFile file = program_of({kSvc});
  file.header.e_type = ET_DYN;
  for (auto& segment : file.segments) segment.p_align = 0x10000;
  ElfImage image = parse_elf(file.bytes(), "good");
  uint64_t moved = image.program.entry - file.header.e_entry;
  EXPECT_EQ(moved % 0x10000, 0u);
  EXPECT_EQ(image.program.segments[0].address, 0x400000u + moved);
  EXPECT_EQ(image.program.segments[1].address, 0x410000u + moved);
  EXPECT_EQ(image.break_start, 0x413000u + moved);
  EXPECT_EQ(image.program_headers, 0x400000u + moved + sizeof(Elf64_Ehdr));
}

TEST(Elf, EveryTruncationIsRefused) {
  std::vector<uint8_t> file = program_of({kSvc}).bytes();
  for (size_t size = 0; size < file.size(); size++) {
    EXPECT_THROW(parse_elf(std::span(file).first(size), "cut"), ArgumentError) << size;
  }
}

struct Damage {
  const char* name;
  const char* sentence;  // a part of the error message
  std::function<void(ElfFile&)> apply;
};
void PrintTo(const Damage& damage, std::ostream* out) { *out << damage.name; }

class BadElf : public testing::TestWithParam<Damage> {};

TEST_P(BadElf, IsRefusedWithASentence) {
  ElfFile file = program_of({kSvc});
  GetParam().apply(file);
  try {
    parse_elf(file.bytes(), "bad.elf");
    FAIL() << "accepted";
  } catch (const ArgumentError& error) {
    std::string what = error.what();
    EXPECT_EQ(what.rfind("bad.elf: ", 0), 0u) << what;
    EXPECT_NE(what.find(GetParam().sentence), std::string::npos) << what;
    EXPECT_NE(what.find("; "), std::string::npos) << "says not what to do: " << what;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, BadElf,
    testing::Values(
        Damage{"magic", "not an ELF file", [](ElfFile& f) { f.header.e_ident[0] = 0; }},
        Damage{"class32", "32-bit", [](ElfFile& f) { f.header.e_ident[EI_CLASS] = ELFCLASS32; }},
        Damage{"class", "class is 9", [](ElfFile& f) { f.header.e_ident[EI_CLASS] = 9; }},
        Damage{"big_endian", "big-endian", [](ElfFile& f) { f.header.e_ident[EI_DATA] = ELFDATA2MSB; }},
        Damage{"encoding", "data encoding is 0", [](ElfFile& f) { f.header.e_ident[EI_DATA] = 0; }},
        Damage{"version", "version is 0", [](ElfFile& f) { f.header.e_ident[EI_VERSION] = 0; }},
        Damage{"system", "other than Linux", [](ElfFile& f) { f.header.e_ident[EI_OSABI] = ELFOSABI_FREEBSD; }},
        Damage{"x86", "x86-64", [](ElfFile& f) { f.header.e_machine = EM_X86_64; }},
        Damage{"machine", "machine number 1234", [](ElfFile& f) { f.header.e_machine = 1234; }},
        Damage{"object", "object file", [](ElfFile& f) { f.header.e_type = ET_REL; }},
        Damage{"core", "core dump", [](ElfFile& f) { f.header.e_type = ET_CORE; }},
        Damage{"type", "type is 77", [](ElfFile& f) { f.header.e_type = 77; }},
        Damage{"library", "shared library",
               [](ElfFile& f) {
                 f.header.e_type = ET_DYN;
                 f.header.e_entry = 0;
               }},
        Damage{"no_headers", "no program headers", [](ElfFile& f) { f.segments.clear(); }},
        Damage{"header_size", "program headers are 32 bytes", [](ElfFile& f) { f.header.e_phentsize = 32; }},
        Damage{"header_place", "beyond the end", [](ElfFile& f) { f.header.e_phoff = ~uint64_t{0} - 7; }},
        Damage{"header_count", "more than Linux accepts", [](ElfFile& f) { f.header.e_phnum = 0xffff; }},
        Damage{"headers_cut", "within the program headers", [](ElfFile& f) { f.header.e_phnum = 1000; }},
        Damage{"dynamic", "dynamically linked", [](ElfFile& f) { f.add(PT_INTERP, PF_R, 0, 0x400000, 8, 8); }},
        Damage{"nothing_to_load", "no segment",
               [](ElfFile& f) {
                 for (auto& s : f.segments) s.p_type = PT_NOTE;
               }},
        Damage{"file_over_memory", "but only 0x0 in memory", [](ElfFile& f) { f.segments[1].p_memsz = 0; }},
        Damage{"file_size", "asks for 0x7000",
               [](ElfFile& f) { f.segments[1].p_filesz = f.segments[1].p_memsz = 0x7000; }},
        Damage{"offset_wraps", "the file ends", [](ElfFile& f) { f.segments[1].p_offset = ~uint64_t{0} - 0x7ff; }},
        Damage{"same_bytes_again", "more bytes than the file has",
               [](ElfFile& f) { f.add(PT_LOAD, PF_R, 0, 0x500000, 0x1000, 0x1000); }},
        Damage{"memory_wraps", "48-bit", [](ElfFile& f) { f.segments[1].p_memsz = ~uint64_t{0}; }},
        Damage{"memory_huge", "48-bit", [](ElfFile& f) { f.segments[1].p_memsz = uint64_t{1} << 48; }},
        Damage{"address_wraps", "48-bit", [](ElfFile& f) { f.segments[1].p_vaddr = ~uint64_t{0} - 0xfff; }},
        Damage{"address_high", "48-bit", [](ElfFile& f) { f.segments[1].p_vaddr = uint64_t{1} << 48; }},
        Damage{"alignment", "not a power of two", [](ElfFile& f) { f.segments[1].p_align = 0x1001; }},
        Damage{"alignment_huge", "no place",
               [](ElfFile& f) {
                 f.header.e_type = ET_DYN;
                 f.segments[1].p_align = uint64_t{1} << 63;
               }},
        Damage{"overlap", "overlap", [](ElfFile& f) { f.segments[1].p_vaddr = 0x401003; }},
        Damage{"entry_odd", "not a multiple of 4", [](ElfFile& f) { f.header.e_entry += 2; }},
        Damage{"entry_in_data", "not in an executable segment", [](ElfFile& f) { f.header.e_entry = 0x410000; }},
        Damage{"entry_nowhere", "not in an executable segment", [](ElfFile& f) { f.header.e_entry = 0x401004; }}),
    [](const auto& info) { return info.param.name; });

TEST(Elf, UnreadableFilesAreRefused) {
  EXPECT_THROW(load_elf("/nonexistent/program"), ArgumentError);
  EXPECT_THROW(load_elf("/"), ArgumentError);
  EXPECT_THROW(load_elf("/dev/zero"), ArgumentError);
}

TEST(Elf, LoadsFromAFile) {
  std::string path = testing::TempDir() + "myriarm_elf_test";
  std::vector<uint8_t> file = program_of({kSvc}).bytes();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
  EXPECT_EQ(load_elf(path).program.name, path);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace myriarm
