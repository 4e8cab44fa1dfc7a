// SPDX-License-Identifier: Apache-2.0
// A line of an .ins file is a word, its disassembly, inputs and outputs; README.md says what each may be. What is not
// understood is a mistake with its file and line, and no case is left out.
#include "insn/cases.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace ins {
namespace {

using myriarm::Field;

struct ParseError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string trim(const std::string& text) {
  size_t first = text.find_first_not_of(' '), last = text.find_last_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

uint64_t number(const std::string& text) {
  char* end = nullptr;
  uint64_t value = std::strtoull(text.c_str(), &end, 0);
  if (text.empty() || *end != 0) throw ParseError("\"" + text + "\" is not a number");
  return value;
}

std::vector<uint8_t> bytes(const std::string& hex) {
  if (hex.size() % 2 != 0) throw ParseError("\"" + hex + "\" is not a row of bytes");
  std::vector<uint8_t> result;
  for (size_t i = 0; i < hex.size(); i += 2) {
    result.push_back(static_cast<uint8_t>(number("0x" + hex.substr(i, 2))));
  }
  return result;
}

/// x0, sp, nzcv ...; V registers are two fields and not here.
std::optional<Field> field_of(const std::string& name) {
  static const auto* names = [] {
    auto* made = new std::map<std::string, Field>{{"sp", Field::sp},
                                                  {"nzcv", Field::nzcv},
                                                  {"tpidr", Field::tpidr},
                                                  {"fpcr", Field::fpcr},
                                                  {"fpsr", Field::fpsr}};
    for (unsigned i = 0; i <= 30; i++) (*made)["x" + std::to_string(i)] = myriarm::x(i);
    return made;
  }();
  auto found = names->find(name);
  return found == names->end() ? std::nullopt : std::optional(found->second);
}

/// v0=0x0123...: 128 bits in hexadecimal.
void parse_vector(const std::string& name, const std::string& value, Values& values) {
  auto n = static_cast<unsigned>(number(name.substr(1)));
  std::string digits = value.starts_with("0x") ? value.substr(2) : value;
  if (n > 31 || digits.size() > 32) throw ParseError("\"" + name + "=" + value + "\" is no SIMD&FP register");
  digits.insert(0, 32 - digits.size(), '0');
  values[myriarm::v_high(n)] = number("0x" + digits.substr(0, 16));
  values[myriarm::v_low(n)] = number("0x" + digits.substr(16));
}

void parse_item(const std::string& item, bool output, Case& c) {
  size_t equals = item.find('=');
  if (equals == std::string::npos) throw ParseError("\"" + item + "\" is not name=value");
  std::string name = item.substr(0, equals), value = item.substr(equals + 1);
  Values& values = output ? c.outputs : c.inputs;
  if (auto field = field_of(name)) {
    values[*field] = number(value);
  } else if (name.starts_with('[') && name.ends_with(']')) {
    (output ? c.memory_out : c.memory_in)[number(name.substr(1, name.size() - 2))] = bytes(value);
  } else if (name.size() >= 2 && name[0] == 'v' && std::isdigit(static_cast<unsigned char>(name[1]))) {
    parse_vector(name, value, values);
  } else if (name == "pc" && !output) {
    c.pc = number(value);
    if (*c.pc < 0x100000 || *c.pc >= kFirstFreePc || *c.pc % 4 != 0) throw ParseError("pc is out of its range");
  } else if (name == "pc" && (value.starts_with('+') || value.starts_with('-'))) {
    c.pc_offset = std::stoll(value);
  } else if (name == "pc") {
    c.pc_address = number(value);
  } else if (name == "instructions" && !output) {
    c.inputs[Field::instructions] = number(value);
  } else if (name == "stop" && output) {
    c.stop = value;
  } else if (name == "fault" && output) {
    c.fault = value;
  } else if (name == "detail" && output) {
    c.detail = number(value);
  } else if (name == "address" && output) {
    c.address = number(value);
  } else {
    throw ParseError("\"" + name + "\" is not known here");
  }
}

Case parse_case(const std::string& line) {
  Case c;
  c.whole = line;
  size_t first = line.find('|'), second = line.find('|', first + 1);
  size_t arrow = second == std::string::npos ? second : line.find("=>", second);
  if (arrow == std::string::npos) throw ParseError("a case is: word | disassembly | inputs => outputs");
  std::string word = trim(line.substr(0, first));
  if (word.size() != 8) throw ParseError("the word is not 8 hexadecimal digits");
  c.word = static_cast<uint32_t>(number("0x" + word));
  c.text = trim(line.substr(first + 1, second - first - 1));
  std::istringstream inputs(line.substr(second + 1, arrow - second - 1)), outputs(line.substr(arrow + 2));
  for (std::string item; inputs >> item;) parse_item(item, false, c);
  for (std::string item; outputs >> item;) parse_item(item, true, c);
  return c;
}

}  // namespace

std::vector<std::filesystem::path> files() {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(MYRIARM_SOURCE_DIR "/tests/insn")) {
    if (entry.path().extension() == ".ins") found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<Case> read_cases(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<Case> cases;
  std::string mistakes;
  size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    number++;
    if (trim(line).empty() || line[0] == '#') continue;
    try {
      cases.push_back(parse_case(line));
      cases.back().line = number;
    } catch (const ParseError& error) {
      mistakes += path.filename().string() + ":" + std::to_string(number) + ": " + error.what() + "\n";
    }
  }
  if (!mistakes.empty()) throw std::runtime_error(mistakes);
  if (cases.empty()) throw std::runtime_error("no case in " + path.string());
  return cases;
}

}  // namespace ins
