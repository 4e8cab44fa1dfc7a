// SPDX-License-Identifier: Apache-2.0
// The ELF64 loader: makes a Program of the bytes of an untrusted file. Every size and offset is checked before it is
// used, and nothing larger than the file itself is allocated.
// Relocations are not applied: a static-pie program relocates itself.
#include <elf.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "myriarm/linux.h"
#include "support/align.h"
#include "support/text.h"

namespace myriarm {
namespace {

// Linux on AArch64 with 4 KiB pages gives a process 48 bits.
constexpr uint64_t kAddressLimit = uint64_t{1} << 48;
// Where a position-independent program is loaded.
constexpr uint64_t kPositionIndependentBase = 0x1000'0000;
// Like Linux, the loader accepts at most 64 KiB of program headers.
constexpr uint64_t kMostProgramHeaderBytes = 65536;

std::string machine_name(uint16_t machine) {
  switch (machine) {
    case EM_X86_64: return "x86-64";
    case EM_386: return "x86";
    case EM_ARM: return "32-bit Arm";
    case EM_RISCV: return "RISC-V";
    case EM_PPC64: return "PowerPC";
    case EM_S390: return "S/390";
    case EM_MIPS: return "MIPS";
    default: return "machine number " + std::to_string(machine);
  }
}

/// Reads one file into an ElfImage.
class Reader {
 public:
  /// `lowest_base`: where a position-independent file goes at the lowest. `dynamic`: a program may name its loader.
  Reader(std::span<const uint8_t> file, const std::string& name, uint64_t lowest_base, bool dynamic)
      : file_(file), name_(name), lowest_base_(lowest_base), dynamic_(dynamic) {}

  ElfImage read() {
    check_identity();
    header_ = at<Elf64_Ehdr>(0, "ELF header");
    check_header();
    read_program_headers();
    choose_base();
    for (const Elf64_Phdr& p : program_headers_) {
      if (p.p_type == PT_LOAD) add_segment(p);
    }
    if (image_.program.segments.empty()) {
      fail("it has no segment to load", "give an executable that the linker made");
    }
    check_overlap();
    check_entry();
    locate_program_headers();
    image_.program.name = name_;
    image_.bias = bias_;
    return std::move(image_);
  }
  /// The path of the loader that the program names; empty if it is static. To be called after read().
  const std::string& interpreter() const { return interpreter_; }

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& remedy) const {
    throw ArgumentError(name_ + ": " + what + "; " + remedy);
  }
  [[noreturn]] void fail_segment(size_t index, const std::string& what) const {
    fail("program header " + std::to_string(index) + " " + what, "the file is damaged: link it again");
  }

  template <class T>
  T at(uint64_t offset, const char* what) const {
    if (offset > file_.size() || sizeof(T) > file_.size() - offset) {
      fail("the file ends after " + std::to_string(file_.size()) + " bytes, within the " + what,
           "give the complete file");
    }
    T value;
    std::memcpy(&value, file_.data() + offset, sizeof value);
    return value;
  }

  void check_identity() const {
    if (file_.size() < SELFMAG || std::memcmp(file_.data(), ELFMAG, SELFMAG) != 0) {
      fail("it is not an ELF file", "give a static AArch64 executable, or load it as raw bytes");
    }
    if (file_.size() < EI_NIDENT) at<Elf64_Ehdr>(0, "ELF header");
    const char* build_for = "build it for AArch64 Linux";
    if (file_[EI_CLASS] == ELFCLASS32) fail("it is a 32-bit ELF file, not a 64-bit one", build_for);
    if (file_[EI_CLASS] != ELFCLASS64) {
      fail("its ELF class is " + std::to_string(file_[EI_CLASS]) + ", not 2 (64-bit)", build_for);
    }
    if (file_[EI_DATA] == ELFDATA2MSB) fail("it is big-endian, not little-endian", build_for);
    if (file_[EI_DATA] != ELFDATA2LSB) {
      fail("its ELF data encoding is " + std::to_string(file_[EI_DATA]) + ", not 1 (little-endian)", build_for);
    }
    if (file_[EI_VERSION] != EV_CURRENT) {
      fail("its ELF version is " + std::to_string(file_[EI_VERSION]) + ", not 1", build_for);
    }
    if (file_[EI_OSABI] != ELFOSABI_NONE && file_[EI_OSABI] != ELFOSABI_GNU) {
      fail("it is for an operating system other than Linux (ELF OS ABI " + std::to_string(file_[EI_OSABI]) + ")",
           build_for);
    }
  }

  void check_header() {
    if (header_.e_machine != EM_AARCH64) {
      fail("it is for " + machine_name(header_.e_machine) + ", not for AArch64", "build it for AArch64 Linux");
    }
    switch (header_.e_type) {
      case ET_EXEC:
      case ET_DYN: break;
      case ET_REL: fail("it is an object file, not an executable", "link it with -static");
      case ET_CORE: fail("it is a core dump, not an executable", "give the program that made it");
      default:
        fail("its ELF type is " + std::to_string(header_.e_type) + ", not an executable", "link it with -static");
    }
    if (header_.e_phnum == 0) fail("it has no program headers", "link it as an executable");
    if (header_.e_phentsize != sizeof(Elf64_Phdr)) {
      fail("its program headers are " + std::to_string(header_.e_phentsize) + " bytes each, not " +
               std::to_string(sizeof(Elf64_Phdr)),
           "the file is damaged: link it again");
    }
    if (header_.e_phnum * sizeof(Elf64_Phdr) > kMostProgramHeaderBytes) {
      fail("it has " + std::to_string(header_.e_phnum) + " program headers, more than Linux accepts",
           "link it with fewer segments");
    }
  }

  void read_program_headers() {
    if (header_.e_phoff > file_.size()) {
      fail("its program headers lie at file offset " + hex(header_.e_phoff) + ", beyond the end of the file",
           "give the complete file");
    }
    for (size_t i = 0; i < header_.e_phnum; i++) {
      program_headers_.push_back(at<Elf64_Phdr>(header_.e_phoff + i * sizeof(Elf64_Phdr), "program headers"));
      const Elf64_Phdr& p = program_headers_.back();
      if (p.p_type == PT_INTERP) read_interpreter(p);
      if (p.p_type == PT_GNU_STACK) image_.executable_stack = (p.p_flags & PF_X) != 0;
      if (p.p_type == PT_LOAD) check_segment(i, p);
    }
  }

  void read_interpreter(const Elf64_Phdr& p) {
    if (!dynamic_) fail("it is dynamically linked", "link it with -static, or give a root that has its loader");
    constexpr uint64_t kMostPathBytes = 4096;
    if (p.p_filesz < 2 || p.p_filesz > kMostPathBytes || p.p_offset > file_.size() ||
        p.p_filesz > file_.size() - p.p_offset || file_[p.p_offset + p.p_filesz - 1] != 0) {
      fail("it does not say where its loader is", "the file is damaged: link it again");
    }
    if (interpreter_.empty()) interpreter_ = reinterpret_cast<const char*>(&file_[p.p_offset]);
  }

  void check_segment(size_t index, const Elf64_Phdr& p) {
    if (p.p_filesz > p.p_memsz) {
      fail_segment(index, "has " + hex(p.p_filesz) + " bytes in the file but only " + hex(p.p_memsz) + " in memory");
    }
    if (p.p_filesz != 0 && (p.p_offset > file_.size() || p.p_filesz > file_.size() - p.p_offset)) {
      fail("the file ends after " + std::to_string(file_.size()) + " bytes, but program header " +
               std::to_string(index) + " asks for " + hex(p.p_filesz) + " bytes at " + hex(p.p_offset),
           "give the complete file");
    }
    // Otherwise a small file could make the host copy the same bytes a thousand times.
    file_bytes_ += p.p_filesz;
    if (file_bytes_ > file_.size()) {
      fail_segment(index, "and those before it ask for more bytes than the file has");
    }
    if (p.p_memsz > kAddressLimit || p.p_vaddr > kAddressLimit - p.p_memsz) {
      fail_segment(index, "asks for " + hex(p.p_memsz) + " bytes at " + hex(p.p_vaddr) +
                              ", which leaves the 48-bit address space");
    }
    if (p.p_align > 1 && !std::has_single_bit(p.p_align)) {
      fail_segment(index, "has the alignment " + hex(p.p_align) + ", which is not a power of two");
    }
    if (p.p_memsz != 0) {
      lowest_ = std::min(lowest_, align_down(p.p_vaddr, kPageBytes));
      highest_ = std::max(highest_, p.p_vaddr + p.p_memsz);
      alignment_ = std::max(alignment_, p.p_align);
    }
  }

  void choose_base() {
    if (header_.e_type != ET_DYN || highest_ == 0) return;
    if (header_.e_entry == 0) fail("it is a shared library, not a program", "give an executable");
    uint64_t wanted = std::max(lowest_base_, lowest_);
    if (alignment_ > kAddressLimit) fail_alignment();
    uint64_t base = align_up(wanted, alignment_);
    // The lowest segment keeps its distance to the multiple of the alignment below it, which goes to `base`.
    bias_ = base - align_down(lowest_, alignment_);
    if (bias_ > kAddressLimit || highest_ > kAddressLimit - bias_) fail_alignment();
  }
  [[noreturn]] void fail_alignment() const {
    fail("its alignment " + hex(alignment_) + " leaves no place for it in the 48-bit address space",
         "link it with -z max-page-size=4096");
  }

  void add_segment(const Elf64_Phdr& p) {
    if (p.p_memsz == 0) return;
    image_.break_start = std::max(image_.break_start, align_up(bias_ + p.p_vaddr + p.p_memsz, kPageBytes));
    // As on Linux for AArch64, writable memory is readable.
    uint32_t permissions = (p.p_flags & (PF_R | PF_W) ? kRead : 0u) | (p.p_flags & PF_W ? kWrite : 0u) |
                           (p.p_flags & PF_X ? kExecute : 0u);
    if (permissions == 0) return;  // the guest cannot tell it from unmapped memory: each access is SIGSEGV
    Segment segment;
    segment.address = bias_ + p.p_vaddr;
    segment.size = p.p_memsz;
    segment.permissions = permissions;
    if (p.p_filesz != 0) {
      std::span<const uint8_t> bytes = file_.subspan(p.p_offset, p.p_filesz);
      segment.bytes.assign(bytes.begin(), bytes.end());
    }
    image_.program.segments.push_back(std::move(segment));
  }

  void check_overlap() {
    auto& segments = image_.program.segments;
    std::sort(segments.begin(), segments.end(),
              [](const Segment& a, const Segment& b) { return a.address < b.address; });
    for (size_t i = 1; i < segments.size(); i++) {
      if (segments[i - 1].address + segments[i - 1].size > segments[i].address) {
        fail("the segments at " + hex(segments[i - 1].address) + " and " + hex(segments[i].address) + " overlap",
             "the file is damaged: link it again");
      }
    }
  }

  void check_entry() {
    uint64_t entry = header_.e_entry + bias_;
    image_.program.entry = entry;
    if (entry % 4 != 0) {
      fail("its entry point " + hex(entry) + " is not a multiple of 4", "the file is damaged: link it again");
    }
    for (const Segment& s : image_.program.segments) {
      if (entry >= s.address && entry - s.address < s.size && (s.permissions & kExecute)) return;
    }
    fail("its entry point " + hex(entry) + " is not in an executable segment", "the file is damaged: link it again");
  }

  void locate_program_headers() {
    image_.program_header_count = header_.e_phnum;
    uint64_t size = header_.e_phnum * sizeof(Elf64_Phdr);
    for (const Elf64_Phdr& p : program_headers_) {
      if (p.p_type != PT_LOAD || header_.e_phoff < p.p_offset) continue;
      uint64_t into = header_.e_phoff - p.p_offset;
      if (into <= p.p_filesz && size <= p.p_filesz - into) {
        image_.program_headers = bias_ + p.p_vaddr + into;
        return;
      }
    }
  }

  std::span<const uint8_t> file_;
  const std::string& name_;
  const uint64_t lowest_base_;
  const bool dynamic_;
  std::string interpreter_;
  Elf64_Ehdr header_ = {};
  std::vector<Elf64_Phdr> program_headers_;
  ElfImage image_;
  uint64_t file_bytes_ = 0;
  uint64_t lowest_ = ~uint64_t{0};
  uint64_t highest_ = 0;
  uint64_t alignment_ = kPageBytes;
  uint64_t bias_ = 0;
};

/// Puts the loader that a program names behind it, as Linux does: it begins first, and is told where the program is.
void add_interpreter(ElfImage& image, const std::string& path, const FileTree& root) {
  const std::string& name = image.program.name;
  const int64_t file = root.find(0, path, kFollowLast, image.path);
  std::span<const uint8_t> bytes;
  if (file < 0 || !S_ISREG(root.facts(static_cast<uint32_t>(file)).mode) ||
      !root.content(static_cast<uint32_t>(file), bytes)) {
    throw ArgumentError(name + ": its loader " + path +
                        " is not in the root; give a root with the C library that it needs");
  }
  Reader reader(bytes, path, image.break_start, false);
  ElfImage loader = reader.read();
  if (loader.bias == 0) {
    throw ArgumentError(name + ": its loader " + path +
                        " has a fixed address; give a root with the C library that it needs");
  }
  image.program_entry = image.program.entry;
  image.interpreter_base = loader.bias;
  image.program.entry = loader.program.entry;
  image.break_start = loader.break_start;
  for (Segment& segment : loader.program.segments) image.program.segments.push_back(std::move(segment));
}

/// The bytes of a regular file that the guest may execute; false if the path leads to none.
bool find_program(const FileTree& root, const std::string& path, std::span<const uint8_t>& bytes) {
  const int64_t file = root.find(0, path, kFollowLast, "");
  return file >= 0 && S_ISREG(root.facts(static_cast<uint32_t>(file)).mode) &&
         root.content(static_cast<uint32_t>(file), bytes);
}

}  // namespace

ElfImage parse_elf(std::span<const uint8_t> file, const std::string& name) { return parse_elf(file, name, nullptr); }

ElfImage parse_elf(std::span<const uint8_t> file, const std::string& name, const FileTree* root) {
  Reader reader(file, name, kPositionIndependentBase, root != nullptr);
  ElfImage image = reader.read();
  if (root != nullptr && !reader.interpreter().empty()) add_interpreter(image, reader.interpreter(), *root);
  return image;
}

RootProgram load_program(const FileTree& root, const std::string& name) {
  std::vector<std::string> paths = {"/" + name};
  if (name.starts_with('/')) paths = {name};
  if (name.find('/') == std::string::npos) {
    paths.clear();
    for (const char* folder : {"/usr/local/bin/", "/usr/bin/", "/bin/", "/usr/sbin/", "/sbin/"}) {
      paths.push_back(folder + name);
    }
  }
  for (const std::string& path : paths) {
    std::span<const uint8_t> bytes;
    if (!find_program(root, path, bytes)) continue;
    RootProgram program = {{bytes.begin(), bytes.end()}, parse_elf(bytes, path, &root)};
    program.image.path = path;
    return program;
  }
  std::error_code error;
  if (!std::filesystem::exists(name, error)) {
    throw ArgumentError(name + ": there is no such program in the root, and no such file here; give the path of one");
  }
  RootProgram program = {read_file(name), {}};
  program.image = parse_elf(program.file, name, &root);
  return program;
}

ElfImage load_elf(const std::string& path) {
  // A file that is no ELF file may be large: it is refused for its first bytes, before the others are read.
  std::error_code error;
  if (std::filesystem::is_regular_file(path, error)) {
    uint8_t magic[SELFMAG];
    std::ifstream file(path, std::ios::binary);
    const bool whole = static_cast<bool>(file.read(reinterpret_cast<char*>(magic), SELFMAG));
    if (whole && std::memcmp(magic, ELFMAG, SELFMAG) != 0) return parse_elf(magic, path);
  }
  return parse_elf(read_file(path), path);
}

}  // namespace myriarm
