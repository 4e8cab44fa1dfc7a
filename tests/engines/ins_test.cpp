// SPDX-License-Identifier: Apache-2.0
// Runs tests/insn/*.ins: a lane for each case, one instruction a lane, all cases of a file in one fleet (or a few,
// where cases want the same pc). Their format is described in tests/insn/README.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "myriarm/myriarm.h"

namespace {

using myriarm::Field;

constexpr uint64_t kMemory = 4 << 20;
constexpr uint64_t kFirstFreePc = 0x200000;  // cases that give a pc stay below

using Values = std::map<Field, uint64_t>;
using Bytes = std::map<uint64_t, std::vector<uint8_t>>;

struct ParseError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Case {
  size_t line = 0;
  std::string whole, text;
  uint32_t word = 0;
  Values inputs, outputs;
  Bytes memory_in, memory_out;
  std::optional<uint64_t> pc;        // input
  std::optional<int64_t> pc_offset;  // output, one of the two
  std::optional<uint64_t> pc_address;
  std::string stop, fault = "none";
  uint64_t detail = 0, address = 0;
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

std::string name_of(Field field) {
  auto n = static_cast<unsigned>(field), low = static_cast<unsigned>(Field::v0_low);
  if (n <= 30) return "x" + std::to_string(n);
  if (n >= low) return "v" + std::to_string((n - low) % 32) + (n - low < 32 ? " (lower half)" : " (upper half)");
  constexpr const char* kNames[] = {"sp", "pc", "nzcv", "tpidr", "fpcr", "fpsr", "instructions", "limit"};
  return kNames[n - 31];
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

std::vector<Case> read_cases(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<Case> cases;
  size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    number++;
    if (trim(line).empty() || line[0] == '#') continue;
    try {
      cases.push_back(parse_case(line));
      cases.back().line = number;
    } catch (const ParseError& error) {
      ADD_FAILURE() << path.filename().string() << ":" << number << ": " << error.what();
    }
  }
  return cases;
}

/// Splits cases so that no two of a group want the same pc, and gives a pc to those that have none.
std::vector<std::vector<Case>> place(const std::vector<Case>& cases) {
  std::vector<std::vector<Case>> groups;
  std::map<uint64_t, size_t> uses;
  uint64_t free_pc = kFirstFreePc;
  for (Case c : cases) {
    if (!c.pc) {
      c.pc = free_pc;
      free_pc += 4;
    }
    size_t group = uses[*c.pc]++;
    if (group >= groups.size()) groups.resize(group + 1);
    groups[group].push_back(c);
  }
  return groups;
}

std::string hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

/// A field of each case's lane, before it runs.
uint64_t initial(const Case& c, Field field) {
  if (field == Field::pc) return *c.pc;
  auto given = c.inputs.find(field);
  uint64_t value = given == c.inputs.end() ? 0 : given->second;
  // A case that expects a stop has room for one instruction more, so that not stopping is seen.
  if (field == Field::limit) return initial(c, Field::instructions) + (c.stop.empty() ? 1 : 2);
  return value;
}

uint64_t expected(const Case& c, Field field) {
  bool retires = c.stop.empty() || c.stop == "syscall";
  if (field == Field::pc) {
    if (c.pc_address) return *c.pc_address;
    return *c.pc + static_cast<uint64_t>(c.pc_offset.value_or(retires ? 4 : 0));
  }
  if (field == Field::instructions) return initial(c, field) + (retires ? 1 : 0);
  auto given = c.outputs.find(field);
  return given == c.outputs.end() ? initial(c, field) : given->second;
}

void check_stop(const Case& c, const myriarm::Stop& stop, std::string& wrong) {
  std::string reason = c.stop.empty() ? "budget" : c.stop;
  if (myriarm::name(stop.reason) != reason) {
    wrong += std::string("  stop: ") + myriarm::name(stop.reason) + ", expected " + reason + "\n";
  }
  if (c.stop.empty()) return;
  if (myriarm::name(stop.fault) != c.fault) {
    wrong += std::string("  fault: ") + myriarm::name(stop.fault) + ", expected " + c.fault + "\n";
  }
  if (stop.detail != c.detail) wrong += "  detail: " + hex(stop.detail) + ", expected " + hex(c.detail) + "\n";
  if (stop.address != c.address) wrong += "  address: " + hex(stop.address) + ", expected " + hex(c.address) + "\n";
}

/// Pieces of the memory of many lanes, for one call of the fleet.
struct Pieces {
  std::vector<myriarm::Transfer> transfers;
  std::vector<uint8_t> buffer;

  void add(size_t lane, uint64_t address, const std::vector<uint8_t>& data) {
    transfers.push_back({static_cast<uint32_t>(lane), static_cast<uint32_t>(data.size()), address, buffer.size()});
    buffer.insert(buffer.end(), data.begin(), data.end());
  }
};

/// What the inputs put there, with the outputs laid over them.
Pieces expected_memory(const std::vector<Case>& cases) {
  Pieces pieces;
  for (size_t lane = 0; lane < cases.size(); lane++) {
    std::map<uint64_t, uint8_t> bytes;
    for (const Bytes* layer : {&cases[lane].memory_in, &cases[lane].memory_out}) {
      for (const auto& [address, data] : *layer) {
        for (size_t i = 0; i < data.size(); i++) bytes[address + i] = data[i];
      }
    }
    for (auto it = bytes.begin(); it != bytes.end();) {
      uint64_t start = it->first;
      std::vector<uint8_t> run;
      while (it != bytes.end() && it->first == start + run.size()) run.push_back((it++)->second);
      pieces.add(lane, start, run);
    }
  }
  return pieces;
}

void check_memory(const myriarm::Fleet& fleet, const std::vector<Case>& cases, std::vector<std::string>& wrong) {
  Pieces wanted = expected_memory(cases);
  std::vector<uint8_t> found(wanted.buffer.size());
  std::vector<uint32_t> done(wanted.transfers.size());
  fleet.read(wanted.transfers, found, done);
  for (size_t piece = 0; piece < done.size(); piece++) {
    const myriarm::Transfer& t = wanted.transfers[piece];
    for (size_t i = 0; i < t.size; i++) {
      uint8_t want = wanted.buffer[t.offset + i], have = found[t.offset + i];
      if (i >= done[piece]) {
        wrong[t.lane] += "  [" + hex(t.address + i) + "] is not mapped\n";
      } else if (have != want) {
        wrong[t.lane] += "  [" + hex(t.address + i) + "]: " + hex(have) + ", expected " + hex(want) + "\n";
      }
    }
  }
}

/// Executable pages with the words at their places, amid data pages.
myriarm::Program program_of(const std::string& file, const std::vector<Case>& cases) {
  uint64_t begin = kMemory, end = 0;
  for (const Case& c : cases) {
    begin = std::min(begin, *c.pc / myriarm::kPageBytes * myriarm::kPageBytes);
    end = std::max(end, (*c.pc / myriarm::kPageBytes + 1) * myriarm::kPageBytes);
  }
  std::vector<uint8_t> code(end - begin);
  for (const Case& c : cases) std::memcpy(code.data() + (*c.pc - begin), &c.word, 4);
  myriarm::Program program;
  program.name = file;
  program.entry = begin;
  program.segments = {{0, begin, myriarm::kRead | myriarm::kWrite, {}},
                      {begin, end - begin, myriarm::kRead | myriarm::kExecute, code},
                      {end, kMemory - end, myriarm::kRead | myriarm::kWrite, {}}};
  return program;
}

void run_group(const std::string& file, const std::vector<Case>& cases) {
  const char* device = std::getenv("MYRIARM_TEST_DEVICE");
  myriarm::FleetOptions options;
  options.device = device != nullptr ? device : "cpu";
  options.lanes = cases.size();
  options.memory = kMemory;
  myriarm::Fleet fleet(program_of(file, cases), options);

  std::vector<uint64_t> values(cases.size());
  std::vector<std::string> wrong(cases.size());
  for (unsigned f = 0; f < static_cast<unsigned>(Field::count); f++) {
    auto field = static_cast<Field>(f);
    std::transform(cases.begin(), cases.end(), values.begin(), [&](const Case& c) { return initial(c, field); });
    fleet.set_all(field, values);
  }
  Pieces given;
  for (size_t lane = 0; lane < cases.size(); lane++) {
    for (const auto& [address, data] : cases[lane].memory_in) given.add(lane, address, data);
  }
  fleet.write(given.transfers, given.buffer);
  fleet.run();
  for (unsigned f = 0; f < static_cast<unsigned>(Field::count); f++) {
    auto field = static_cast<Field>(f);
    if (field == Field::limit) continue;
    fleet.get_all(field, values);
    for (size_t lane = 0; lane < cases.size(); lane++) {
      uint64_t wanted = expected(cases[lane], field);
      if (values[lane] != wanted) {
        wrong[lane] += "  " + name_of(field) + ": " + hex(values[lane]) + ", expected " + hex(wanted) + "\n";
      }
    }
  }
  check_memory(fleet, cases, wrong);
  for (size_t lane = 0; lane < cases.size(); lane++) {
    const Case& c = cases[lane];
    check_stop(c, fleet.stops()[lane], wrong[lane]);
    std::string text = myriarm::disassemble(c.word, c.pc.value_or(0));
    if (text != c.text) wrong[lane] += "  disassembly: \"" + text + "\", expected \"" + c.text + "\"\n";
    if (!wrong[lane].empty()) ADD_FAILURE() << file << ":" << c.line << ": " << c.whole << "\n" << wrong[lane];
  }
}

std::vector<std::filesystem::path> ins_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(MYRIARM_SOURCE_DIR "/tests/insn")) {
    if (entry.path().extension() == ".ins") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

class Ins : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(Ins, EveryCase) {
  std::vector<Case> cases = read_cases(GetParam());
  ASSERT_FALSE(cases.empty()) << "no case in " << GetParam();
  for (const auto& group : place(cases)) run_group(GetParam().filename().string(), group);
}

/// The third edit of who adds an instruction is a case; two rows may share one only where they overlap.
TEST(InsFiles, CoverEveryImplementedRow) {
  std::vector<uint32_t> words;
  for (const auto& file : ins_files()) {
    for (const Case& c : read_cases(file)) words.push_back(c.word);
  }
  for (const myriarm::IsaRow& row : myriarm::isa_rows()) {
    if (row.status != "implemented") continue;
    uint32_t mask = 0, value = 0;
    for (char bit : row.bits) {
      mask = mask << 1 | (bit == '0' || bit == '1');
      value = value << 1 | (bit == '1');
    }
    EXPECT_TRUE(std::any_of(words.begin(), words.end(), [&](uint32_t word) { return (word & mask) == value; }))
        << row.name << " has no case in tests/insn";
  }
}

INSTANTIATE_TEST_SUITE_P(Files, Ins, testing::ValuesIn(ins_files()),
                         [](const auto& param) { return param.param.stem().string(); });

}  // namespace
