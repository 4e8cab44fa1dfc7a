// SPDX-License-Identifier: Apache-2.0
// The ELF64 loader: makes a Program of the bytes of an untrusted file, by the rules of kernel/elf_file.h, and says in a sentence
// what is wrong with one. Nothing larger than the file itself is allocated.
// Relocations are not applied: a static-pie program relocates itself.
#include <elf.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "kernel/elf_file.h"
#include "kernel/script_line.h"
#include "myriarm/linux.h"
#include "support/text.h"

namespace myriarm {
namespace {

using kernel::ElfFault;

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

/// kernel::FileBytes.
struct SpanBytes {
  std::span<const uint8_t> file;
  uint64_t size() const { return file.size(); }
  uint8_t byte(uint64_t at) const { return file[at]; }
};
static_assert(kernel::FileBytes<SpanBytes>);

/// Reads one file into an ElfImage.
class Reader {
 public:
  /// `lowest_base`: where a position-independent file goes at the lowest. `dynamic`: a program may name its loader.
  Reader(std::span<const uint8_t> file, const std::string& name, uint64_t lowest_base, bool dynamic)
      : bytes_{file}, name_(name), lowest_base_(lowest_base), dynamic_(dynamic) {}

  ElfImage read() {
    const kernel::ElfCheck check = kernel::read_elf(bytes_, elf_);
    if (check.fault != ElfFault::none) fail(check);
    if (elf_.loader_size != 0 && !dynamic_) {
      fail("it is dynamically linked", "link it with -static, or give a root that has its loader");
    }
    if (elf_.moves && elf_.entry == 0) fail("it is a shared library, not a program", "give an executable");
    if (!kernel::place_elf(elf_, lowest_base_)) {
      fail("its alignment " + hex(elf_.alignment) + " leaves no place for it in the 48-bit address space",
           "link it with -z max-page-size=4096");
    }
    ElfImage image;
    for (uint32_t i = 0; i < elf_.headers; i++) add_segment(kernel::elf_segment(bytes_, elf_, i), image);
    if (image.program.segments.empty()) fail({ElfFault::nothing_to_load, 0});
    image.program.entry = elf_.entry_address();
    check_entry(image.program);
    image.program.name = name_;
    image.program_headers = kernel::headers_address(bytes_, elf_);
    image.program_header_count = static_cast<uint16_t>(elf_.headers);
    image.break_start = elf_.end();
    image.executable_stack = elf_.executable_stack;
    image.bias = elf_.bias;
    return image;
  }
  /// The path of the loader that the program names; empty if it is static. To be called after read().
  std::string interpreter() const {
    if (elf_.loader_size == 0) return {};
    return reinterpret_cast<const char*>(&bytes_.file[elf_.loader_at]);
  }

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& remedy) const {
    throw ArgumentError(name_ + ": " + what + "; " + remedy);
  }
  [[noreturn]] void fail(const kernel::ElfCheck& check) const {
    if (check.fault >= ElfFault::loader && check.fault <= ElfFault::order) fail_segment(check);
    fail_file(check.fault);
  }
  [[noreturn]] void fail_file(ElfFault fault) const {
    const char* build_for = "build it for AArch64 Linux";
    const char* damaged = "the file is damaged: link it again";
    const std::string cut = "the file ends after " + std::to_string(bytes_.size()) + " bytes, within the ";
    Elf64_Ehdr header = {};
    std::copy_n(bytes_.file.begin(), std::min(sizeof header, bytes_.file.size()), reinterpret_cast<uint8_t*>(&header));
    const auto identity = [&](int part) { return std::to_string(header.e_ident[part]); };
    switch (fault) {
      case ElfFault::magic: fail("it is not an ELF file", "give a static AArch64 executable, or load it as raw bytes");
      case ElfFault::header_is_cut: fail(cut + "ELF header", "give the complete file");
      case ElfFault::file_class:
        if (header.e_ident[EI_CLASS] == ELFCLASS32) fail("it is a 32-bit ELF file, not a 64-bit one", build_for);
        fail("its ELF class is " + identity(EI_CLASS) + ", not 2 (64-bit)", build_for);
      case ElfFault::byte_order:
        if (header.e_ident[EI_DATA] == ELFDATA2MSB) fail("it is big-endian, not little-endian", build_for);
        fail("its ELF data encoding is " + identity(EI_DATA) + ", not 1 (little-endian)", build_for);
      case ElfFault::version: fail("its ELF version is " + identity(EI_VERSION) + ", not 1", build_for);
      case ElfFault::system:
        fail("it is for an operating system other than Linux (ELF OS ABI " + identity(EI_OSABI) + ")", build_for);
      case ElfFault::machine: fail("it is for " + machine_name(header.e_machine) + ", not for AArch64", build_for);
      case ElfFault::type:
        if (header.e_type == ET_REL) fail("it is an object file, not an executable", "link it with -static");
        if (header.e_type == ET_CORE) fail("it is a core dump, not an executable", "give the program that made it");
        fail("its ELF type is " + std::to_string(header.e_type) + ", not an executable", "link it with -static");
      case ElfFault::no_headers: fail("it has no program headers", "link it as an executable");
      case ElfFault::header_size:
        fail("its program headers are " + std::to_string(header.e_phentsize) + " bytes each, not " +
                 std::to_string(kernel::kProgramHeaderBytes),
             damaged);
      case ElfFault::too_many_headers:
        fail("it has " + std::to_string(header.e_phnum) + " program headers, more than Linux accepts",
             "link it with fewer segments");
      case ElfFault::headers_are_outside:
        fail("its program headers lie at file offset " + hex(header.e_phoff) + ", beyond the end of the file",
             "give the complete file");
      case ElfFault::headers_are_cut: fail(cut + "program headers", "give the complete file");
      case ElfFault::nothing_to_load: fail("it has no segment to load", "give an executable that the linker made");
      default: fail("its entry point " + hex(header.e_entry) + " is not a multiple of 4", damaged);
    }
  }
  [[noreturn]] void fail_segment(const kernel::ElfCheck& check) const {
    const kernel::ElfSegment s = kernel::elf_segment(bytes_, elf_, check.index);
    const std::string who = "program header " + std::to_string(check.index);
    const char* damaged = "the file is damaged: link it again";
    switch (check.fault) {
      case ElfFault::loader: fail("it does not say where its loader is", damaged);
      case ElfFault::memory_size:
        fail(who + " has " + hex(s.file_size) + " bytes in the file but only " + hex(s.size) + " in memory", damaged);
      case ElfFault::segment_is_cut:
        fail("the file ends after " + std::to_string(bytes_.size()) + " bytes, but " + who + " asks for " +
                 hex(s.file_size) + " bytes at " + hex(s.offset),
             "give the complete file");
      case ElfFault::file_size: fail(who + " and those before it ask for more bytes than the file has", damaged);
      case ElfFault::address:
        fail(who + " asks for " + hex(s.size) + " bytes at " + hex(s.address) +
                 ", which leaves the 48-bit address space",
             damaged);
      case ElfFault::alignment:
        fail(who + " has the alignment " + hex(s.alignment) + ", which is not a power of two", damaged);
      default:
        fail("the segment at " + hex(s.address) + " and one before it overlap, or are not in rising order", damaged);
    }
  }

  void add_segment(const kernel::ElfSegment& s, ElfImage& image) const {
    // The guest cannot tell one without permissions from unmapped memory: each access is SIGSEGV.
    if (s.type != kernel::kSegmentLoad || s.size == 0 || s.permissions == 0) return;
    Segment segment;
    segment.address = elf_.bias + s.address;
    segment.size = s.size;
    segment.permissions = s.permissions;
    const std::span<const uint8_t> bytes = bytes_.file.subspan(s.file_size == 0 ? 0 : s.offset, s.file_size);
    segment.bytes.assign(bytes.begin(), bytes.end());
    image.program.segments.push_back(std::move(segment));
  }

  /// Linux would let the program begin, and fault there.
  void check_entry(const Program& program) const {
    for (const Segment& s : program.segments) {
      if (program.entry >= s.address && program.entry - s.address < s.size && (s.permissions & kExecute)) return;
    }
    fail("its entry point " + hex(program.entry) + " is not in an executable segment",
         "the file is damaged: link it again");
  }

  const SpanBytes bytes_;
  const std::string& name_;
  const uint64_t lowest_base_;
  const bool dynamic_;
  kernel::ElfFile elf_ = {};
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

/// The path of the program that runs a file: that of the file, or if it is a script, of its interpreter. Then `arguments` gets what
/// execve() puts in the place of the first one. `bytes`: of the file, and then of the program.
std::string follow_scripts(const FileTree& root, const std::string& name, std::span<const uint8_t>& bytes,
                           std::vector<std::string>& arguments) {
  std::string path = name;
  for (uint32_t depth = 0; kernel::is_script(SpanBytes{bytes}); depth++) {
    kernel::ScriptLine line;
    if (depth == kernel::kDeepestScript)
      throw ArgumentError(name + ": its interpreters are scripts too, too many of them");
    if (!kernel::script_line(SpanBytes{bytes}, line)) {
      throw ArgumentError(path + ": its first line names no interpreter; write one behind #!, as #!/bin/sh");
    }
    const auto text = [&](uint64_t at, uint64_t size) {
      return std::string(reinterpret_cast<const char*>(bytes.data()) + at, size);
    };
    std::vector<std::string> words = {text(line.program, line.program_size)};
    if (line.argument_size != 0) words.push_back(text(line.argument, line.argument_size));
    if (arguments.empty()) arguments.push_back(path);
    else arguments[0] = path;
    arguments.insert(arguments.begin(), words.begin(), words.end());
    std::span<const uint8_t> program;
    if (!find_program(root, words[0], program)) {
      throw ArgumentError(path + ": the root has no " + words[0] +
                          ", which its first line names; give a root with this interpreter");
    }
    path = words[0];
    bytes = program;
  }
  return path;
}

}  // namespace

ElfImage parse_elf(std::span<const uint8_t> file, const std::string& name) { return parse_elf(file, name, nullptr); }

ElfImage parse_elf(std::span<const uint8_t> file, const std::string& name, const FileTree* root) {
  Reader reader(file, name, kernel::kLowestProgram, root != nullptr);
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
    std::vector<std::string> arguments;
    const std::string interpreter = follow_scripts(root, path, bytes, arguments);
    RootProgram program = {{bytes.begin(), bytes.end()}, parse_elf(bytes, interpreter, &root), std::move(arguments)};
    program.image.path = interpreter;
    return program;
  }
  std::error_code error;
  if (!std::filesystem::exists(name, error)) {
    throw ArgumentError(name + ": there is no such program in the root, and no such file here; give the path of one");
  }
  RootProgram program = {read_file(name), {}, {}};
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
