// SPDX-License-Identifier: Apache-2.0
#include "binutils.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string_view>

#include <unistd.h>

namespace myriarm::test {
namespace {

constexpr const char* kObjdump =
    "aarch64-linux-gnu-objdump -D -z -b binary -m aarch64 -M no-aliases --no-show-raw-insn ";

/// The assembler, told to accept Armv8.2-A and what it calls our features.
std::string assembler() {
  constexpr std::string_view kExtensions[] = {
#define FEATURE(name, gnu, ids, hwcaps) gnu,
#define ROWLESS(name, gnu, ids, hwcaps) gnu,
#include "core/system/features.inc"
#undef FEATURE
#undef ROWLESS
  };
  std::string command = "aarch64-linux-gnu-as -march=armv8.2-a";
  for (std::string_view extension : kExtensions) {
    // A later version of the architecture brings more than the feature: its rows are in divergences.inc.
    if (extension.empty() || extension.starts_with("armv")) continue;
    command.append("+").append(extension);
  }
  return command + ' ';
}

struct TemporaryFolder {
  std::filesystem::path path;
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "myriarm-decode-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make a folder in " + pattern);
    path = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

template <class Line>
int each_line(const std::string& command, Line line) {
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot run: " + command);
  char* text = nullptr;
  size_t capacity = 0;
  ssize_t size;
  while ((size = getline(&text, &capacity, pipe)) > 0) {
    if (text[size - 1] == '\n') size--;
    line(std::string_view(text, static_cast<size_t>(size)));
  }
  free(text);
  return pclose(pipe);
}

/// From version 2.41 on, objdump prints lists of two registers, and lists that continue at v0 after v31, as ranges:
/// {v31.2d-v1.2d}. Changes these to the older form {v31.2d, v0.2d, v1.2d}, and leaves other text unchanged.
std::string with_older_lists(const std::string& text) {
  unsigned first, last;
  char suffix[8], other[8];
  size_t open = text.find('{');
  if (open == std::string::npos ||
      std::sscanf(text.c_str() + open, "{v%u.%7[0-9bhsd]-v%u.%7[0-9bhsd]}", &first, suffix, &last, other) != 4 ||
      (last > first + 1 && last < 32) || first > 31 || last > 31) {
    return text;
  }
  std::string list;
  for (unsigned n = first;; n = (n + 1) % 32) {
    list += (list.empty() ? "v" : ", v") + std::to_string(n) + "." + suffix;
    if (n == last) break;
  }
  return text.substr(0, open + 1) + list + text.substr(text.find('}', open));
}

/// objdump's line without its comments, symbol names and tabs.
std::string plain(std::string_view text) {
  for (std::string_view comment : {"//", " ;", " <"}) text = text.substr(0, text.find(comment));
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  std::string out;
  for (char c : text) out += c == '\t' ? ' ' : c;
  return with_older_lists(out);
}

bool is_system_register_move(uint32_t word) { return (word & 0xFFD00000) == 0xD5100000; }

/// The line for the assembler. A pc-relative target becomes ".", which is always in range. A system register becomes
/// one that every architecture version has, because decoding does not depend on which registers exist.
std::string question(const Verdict& verdict, uint32_t word) {
  if (is_system_register_move(word)) return "mrs x0, tpidr_el0";
  size_t target = verdict.text.rfind(' ');
  if (target != std::string::npos && verdict.text.compare(target, 3, " 0x") == 0) {
    return verdict.text.substr(0, target) + " .";
  }
  return verdict.text;
}

}  // namespace

unsigned binutils_minor() {
  unsigned minor = 0;
  each_line("aarch64-linux-gnu-objdump --version", [&](std::string_view line) {
    size_t number = line.rfind(" 2.");
    if (minor == 0 && number != std::string_view::npos)
      minor = std::strtoul(std::string(line.substr(number + 3)).c_str(), nullptr, 10);
  });
  if (minor == 0)
    throw std::runtime_error("aarch64-linux-gnu-objdump does not run: install binutils-aarch64-linux-gnu");
  return minor;
}

std::vector<Verdict> ask_binutils(const std::vector<uint32_t>& words) {
  TemporaryFolder folder;
  std::string binary = folder.path / "words.bin", source = folder.path / "words.s", object = folder.path / "words.o";
  {
    std::ofstream file(binary, std::ios::binary);
    for (uint32_t word : words) {
      char bytes[4] = {static_cast<char>(word), static_cast<char>(word >> 8), static_cast<char>(word >> 16),
                       static_cast<char>(word >> 24)};
      file.write(bytes, 4);
    }
    if (!file.flush()) throw std::runtime_error("cannot write " + binary);
  }

  std::vector<Verdict> verdicts(words.size());
  size_t lines = 0;
  each_line(kObjdump + binary, [&](std::string_view line) {
    size_t colon = line.find(":\t");
    if (colon == std::string_view::npos) return;
    size_t index = std::strtoull(std::string(line.substr(0, colon)).c_str(), nullptr, 16) / 4;
    if (index >= words.size()) return;
    lines++;
    std::string text = plain(line.substr(colon + 2));
    // objdump prints MSR and MRS with op0 = 0 as instructions, although there is no such system register.
    bool no_instruction = text.compare(0, 5, ".inst") == 0 || text.find(" s0_") != std::string::npos;
    if (!no_instruction) verdicts[index].text = std::move(text);
  });
  if (lines != words.size()) {
    throw std::runtime_error("aarch64-linux-gnu-objdump printed " + std::to_string(lines) + " of " +
                             std::to_string(words.size()) + " words: install binutils-aarch64-linux-gnu");
  }

  std::vector<size_t> asked;
  {
    std::ofstream file(source);
    for (size_t i = 0; i < words.size(); i++) {
      if (verdicts[i].text.empty()) continue;
      verdicts[i].in_scope = true;
      asked.push_back(i);
      file << question(verdicts[i], words[i]) << '\n';
    }
    // The last line is wrong on purpose: if the assembler does not complain about it, it did not run.
    file << "no_such_instruction\n";
    if (!file.flush()) throw std::runtime_error("cannot write " + source);
  }
  bool alive = false;
  each_line(assembler() + source + " -o " + object + " 2>&1", [&](std::string_view line) {
    size_t error = line.find(": Error: ");
    if (error == std::string_view::npos) return;
    size_t number = line.rfind(':', error - 1);
    if (number == std::string_view::npos) return;
    size_t index = std::strtoull(std::string(line.substr(number + 1)).c_str(), nullptr, 10) - 1;
    if (index == asked.size()) alive = true;
    if (index >= asked.size()) return;
    verdicts[asked[index]].in_scope = false;
    verdicts[asked[index]].complaint = line.substr(error + 9);
  });
  if (!alive) throw std::runtime_error("aarch64-linux-gnu-as does not run: install binutils-aarch64-linux-gnu");
  return verdicts;
}

}  // namespace myriarm::test
