// SPDX-License-Identifier: Apache-2.0
#include "translate/llvm/region_key.h"

#include <link.h>
#include <llvm-c/Core.h>
#include <llvm/Support/BLAKE3.h>

#include <algorithm>
#include <span>
#include <vector>

#include "translate/cache/region_file.h"
#include "translate/llvm/module.h"

namespace myriarm::translate {
namespace {

/// Every piece says its length, so that different pieces never make the same bytes.
class Hash {
 public:
  void add(llvm::ArrayRef<u8> bytes) {
    add(bytes.size());
    hash_.update(bytes);
  }
  void add(const std::string& text) { add(llvm::ArrayRef(reinterpret_cast<const u8*>(text.data()), text.size())); }
  void add(u64 number) {
    u8 bytes[8];
    for (int i = 0; i < 8; i++) bytes[i] = static_cast<u8>(number >> 8 * i);
    hash_.update(bytes);
  }
  RegionKey result() {
    const auto bytes = hash_.final();
    RegionKey key;
    static_assert(sizeof bytes == sizeof key);
    std::copy(bytes.begin(), bytes.end(), key.begin());
    return key;
  }

 private:
  llvm::BLAKE3 hash_;
};

/// Copies a part of this module. AddressSanitizer must not look: where it is used, zones that nobody may touch lie between
/// the module's variables. Volatile, since a compiler would otherwise call memcpy(), which it watches too.
__attribute__((no_sanitize("address"))) void copy_of_module(const volatile u8* from, std::span<u8> to) {
  for (size_t i = 0; i < to.size(); i++) to[i] = from[i];
}

/// This module as it is loaded: the code that builds regions, and the rows' bitcode. So a build with other rows or
/// another way to build regions has other keys, although its version is the same.
void add_module(Hash& hash) {
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* hash) {
        auto begin = [&](const ElfW(Phdr) & part) {
          // NOLINTNEXTLINE(performance-no-int-to-ptr): the dynamic loader gives addresses as integers
          return reinterpret_cast<const u8*>(info->dlpi_addr + part.p_vaddr);
        };
        const llvm::ArrayRef<ElfW(Phdr)> parts(info->dlpi_phdr, info->dlpi_phnum);
        const bool is_this = std::any_of(parts.begin(), parts.end(), [&](const ElfW(Phdr) & part) {
          return part.p_type == PT_LOAD && kMyriarmRowsBegin >= begin(part) &&
                 kMyriarmRowsBegin < begin(part) + part.p_memsz;
        });
        if (!is_this) return 0;
        for (const ElfW(Phdr) & part : parts) {
          // What may be written has addresses in it, which differ from run to run.
          if (part.p_type != PT_LOAD || (part.p_flags & PF_W) != 0) continue;
          std::vector<u8> bytes(part.p_filesz);
          copy_of_module(begin(part), bytes);
          static_cast<Hash*>(hash)->add(bytes);
        }
        return 1;
      },
      &hash);
}

}  // namespace

RegionKeys::RegionKeys(llvm::orc::JITTargetMachineBuilder& target, const std::string& options) {
  Hash hash;
  hash.add(kRegionFileFormat);
  hash.add(std::string(MYRIARM_VERSION));
  // That of the library that is loaded, which may be newer than the headers.
  unsigned major = 0, minor = 0, patch = 0;
  LLVMGetVersion(&major, &minor, &patch);
  for (const unsigned number : {major, minor, patch}) hash.add(number);
  add_module(hash);
  hash.add(target.getTargetTriple().str());
  hash.add(target.getCPU());
  std::vector<std::string> features = target.getFeatures().getFeatures();
  std::sort(features.begin(), features.end());
  hash.add(features.size());
  for (const std::string& feature : features) hash.add(feature);
  hash.add(options);
  maker_ = hash.result();
}

RegionKey RegionKeys::key_of(const Shape& shape, const std::string& name) const {
  Hash hash;
  hash.add(maker_);
  // Names every member, so that one that is added later does not compile until it is hashed. What an instruction does
  // follows from its word, and loops from the blocks.
  const auto& [blocks, entries, return_points, instructions, effects, calls_leave, loops] = shape;
  (void)instructions, (void)effects, (void)loops;
  hash.add(u64{calls_leave});
  hash.add(blocks.size());
  for (const auto& [pc, block] : blocks) {
    hash.add(pc);
    const auto& [of_block] = block;
    hash.add(of_block.size());
    for (const Instruction& at : of_block) hash.add(at.word);
  }
  for (const std::vector<u64>* addresses : {&entries, &return_points}) {
    hash.add(addresses->size());
    for (const u64 address : *addresses) hash.add(address);
  }
  hash.add(name);
  return hash.result();
}

RegionKey RegionKeys::key_of(const std::string& what, u64 begin, std::span<const u8> code) const {
  Hash hash;
  hash.add(maker_);
  hash.add(what);
  hash.add(begin);
  hash.add(llvm::ArrayRef(code.data(), code.size()));
  return hash.result();
}

}  // namespace myriarm::translate
