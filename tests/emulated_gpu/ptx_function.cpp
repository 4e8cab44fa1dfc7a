// SPDX-License-Identifier: Apache-2.0
#include "ptx_function.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cmath>
#include <cstring>
#include <map>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace emulated_gpu {
namespace {

using u8 = uint8_t;
using u32 = uint32_t;
using u64 = uint64_t;
using i64 = int64_t;
using Words = std::vector<std::string>;

constexpr u64 kMostStatements = 10'000'000;
constexpr size_t kLocalWords = 1024;  // of its stack

/// A register by its number, a number, or an address: a register or a parameter, and an offset.
struct Operand {
  bool is_register = false, is_parameter = false;
  u32 number = 0;  // of the register or the parameter
  u64 value = 0;   // the number or the offset
};

struct Statement {
  std::string text;  // for messages
  Words words;       // the opcode's parts
  bool guarded = false, negated = false;
  u32 guard = 0;
  std::vector<Operand> to, from;  // registers that are written, and what is read
  size_t target = 0;
  std::string called;
  bool is_shared = false;  // it accesses shared memory
};

u32 bits_of_type(const std::string& type) {
  if (type == "pred") return 1;
  return static_cast<u32>(std::stoul(type.substr(1)));
}
u64 truncated(u64 value, u32 bits) { return bits >= 64 ? value : value & ((u64{1} << bits) - 1); }
i64 extended(u64 value, u32 bits) {
  return bits >= 64 ? static_cast<i64>(value) : static_cast<i64>(value << (64 - bits)) >> (64 - bits);
}

u64 extracted(u64 value, u32 at, u32 length, u32 bits, bool is_signed) {
  const u32 most = bits - 1;
  const u64 sign_at = std::min(at + length - 1, most);
  const bool sign = is_signed && length != 0 && (value >> sign_at & 1) != 0;
  u64 result = 0;
  for (u32 i = 0; i < bits; i++) {
    const bool bit = i < length && at + i <= most ? (value >> (at + i) & 1) != 0 : sign;
    result |= u64{bit} << i;
  }
  return result;
}

double number_of(u64 value, u32 bits) {
  return bits == 32 ? std::bit_cast<float>(static_cast<u32>(value)) : std::bit_cast<double>(value);
}
/// A NaN as a GPU makes it.
u64 bits_of(float number) { return std::isnan(number) ? 0x7FFFFFFF : std::bit_cast<u32>(number); }
u64 bits_of(double number) { return std::isnan(number) ? 0x7FFFFFFFFFFFFFFF : std::bit_cast<u64>(number); }

/// Of two values, or the three of a fused operation, rounded to nearest.
template <class Number>
bool computed(const std::string& op, Number a, Number b, Number c, u64& value) {
  if (op == "add") value = bits_of(a + b);
  else if (op == "sub") value = bits_of(a - b);
  else if (op == "mul") value = bits_of(a * b);
  else if (op == "div") value = bits_of(a / b);
  else if (op == "fma") value = bits_of(std::fma(a, b, c));
  else if (op == "sqrt") value = bits_of(std::sqrt(a));
  else return false;
  return true;
}

/// One of the types is that of a floating-point number.
bool converted(const Words& words, u64 from, u64& value) {
  const std::string &to = words[words.size() - 2], &type = words.back();
  const u32 bits = bits_of_type(type), to_bits = bits_of_type(to);
  const bool rounds = words.size() == 4 && words[1] == "rn", truncates = words.size() == 4 && words[1] == "rzi";
  if (type[0] == 'f' && to[0] == 'f') {
    if (bits != to_bits && !(rounds || to_bits > bits)) return false;
    const double number = number_of(from, bits);
    value = to_bits == 32 ? bits_of(static_cast<float>(number)) : bits_of(number);
    return true;
  }
  if (to[0] == 'f' && rounds) {
    const i64 with_sign = extended(from, bits);
    const u64 without = truncated(from, bits);
    if (to_bits == 32) value = bits_of(type[0] == 's' ? static_cast<float>(with_sign) : static_cast<float>(without));
    else value = bits_of(type[0] == 's' ? static_cast<double>(with_sign) : static_cast<double>(without));
    return true;
  }
  if (to != "s64" || !truncates) return false;
  const double number = number_of(from, bits);
  constexpr double kEnd = 0x1p63;
  value = std::isnan(number) || number < -kEnd ? u64{1} << 63
          : number >= kEnd                     ? ~(u64{1} << 63)
                                               : static_cast<u64>(static_cast<i64>(number));
  return true;
}

bool compared(const std::string& how, const std::string& type, u64 a, u64 b) {
  if (type[0] == 'f') {
    const double x = number_of(a, bits_of_type(type)), y = number_of(b, bits_of_type(type));
    const bool unordered = std::isnan(x) || std::isnan(y);
    if (how == "num" || how == "nan") return unordered == (how == "nan");
    if (unordered) return how.size() == 3;
    const std::string ordered = how.substr(0, 2);
    return ordered == "eq"   ? x == y
           : ordered == "ne" ? x != y
           : ordered == "lt" ? x < y
           : ordered == "le" ? x <= y
           : ordered == "gt" ? x > y
                             : x >= y;
  }
  const u32 bits = bits_of_type(type);
  a = truncated(a, bits);
  b = truncated(b, bits);
  if (how == "eq") return a == b;
  if (how == "ne") return a != b;
  if (type[0] == 's') {
    const i64 x = extended(a, bits), y = extended(b, bits);
    return how == "lt" ? x < y : how == "le" ? x <= y : how == "gt" ? x > y : x >= y;
  }
  return how == "lt" ? a < b : how == "le" ? a <= b : how == "gt" ? a > b : a >= b;
}

/// What an instruction gives of these operands. False: it is not known.
using Values = std::array<u64, 4>;
bool floats_computed(const Words& words, const Values& in, u64& value) {
  const std::string& op = words[0];
  const u32 bits = bits_of_type(words.back());
  const u64 sign = u64{1} << (bits - 1);
  if (op == "cvt") return converted(words, in[0], value);
  if (op == "neg") value = in[0] ^ sign;
  else if (op == "abs") value = in[0] & ~sign;
  else if (words.at(1) != "rn") return false;
  else if (bits == 64) {
    const auto number = [](u64 word) { return std::bit_cast<double>(word); };
    return computed(op, number(in[0]), number(in[1]), number(in[2]), value);
  } else {
    const auto number = [](u64 word) { return std::bit_cast<float>(static_cast<u32>(word)); };
    return computed(op, number(in[0]), number(in[1]), number(in[2]), value);
  }
  return true;
}

bool multiplied(const Words& words, const Values& in, u64& value) {
  const u32 bits = bits_of_type(words.back());
  const bool is_signed = words.back()[0] == 's';
  const i64 a = extended(in[0], bits), b = extended(in[1], bits);
  const u64 x = truncated(in[0], bits), y = truncated(in[1], bits);
  if (words[1] == "lo") value = x * y;
  else if (words[1] == "wide") value = is_signed ? static_cast<u64>(a * b) : x * y;
  else if (words[1] == "hi" && is_signed) value = static_cast<u64>(static_cast<__int128>(a) * b >> bits);
  else if (words[1] == "hi") value = static_cast<u64>(static_cast<unsigned __int128>(x) * y >> bits);
  else return false;
  if (words[0] == "mad") value += in[2];
  return true;
}

/// The divisor is not 0.
u64 divided(const Words& words, const Values& in) {
  const u32 bits = bits_of_type(words.back());
  const bool wants_quotient = words[0] == "div";
  if (words.back()[0] != 's') {
    const u64 a = truncated(in[0], bits), b = truncated(in[1], bits);
    return wants_quotient ? a / b : a % b;
  }
  const i64 a = extended(in[0], bits), b = extended(in[1], bits);
  if (b == -1) return wants_quotient ? 0 - static_cast<u64>(a) : 0;
  return static_cast<u64>(wants_quotient ? a / b : a % b);
}

u64 inserted(u64 bits_to_insert, u64 into, u32 at, u32 length, u32 bits) {
  for (u32 i = 0; i < length && at + i < bits; i++) {
    into = (into & ~(u64{1} << (at + i))) | (bits_to_insert >> i & 1) << (at + i);
  }
  return into;
}
u64 permuted(u64 bytes, u64 choices) {
  u64 value = 0;
  for (u32 i = 0; i < 4; i++) {
    const u32 choice = static_cast<u32>(choices >> 4 * i) & 15;
    u64 byte = bytes >> 8 * (choice & 7) & 255;
    if ((choice & 8) != 0) byte = (byte & 128) != 0 ? 255 : 0;
    value |= byte << 8 * i;
  }
  return value;
}
u64 reversed(u64 word, u32 bits) {
  u64 value = 0;
  for (u32 i = 0; i < bits; i++) value |= (word >> i & 1) << (bits - 1 - i);
  return value;
}

/// Shifts, extractions and insertions of bits.
bool bits_moved(const Words& words, const Values& in, u64& value) {
  const std::string& op = words[0];
  const u32 bits = bits_of_type(words.back()), by = static_cast<u32>(in[1]);
  const bool is_signed = words.back()[0] == 's';
  const auto byte = [&](int i) { return static_cast<u32>(in[i]) & 255; };
  if (op == "shl") value = by >= bits ? 0 : in[0] << by;
  else if (op == "shr" && is_signed) value = static_cast<u64>(extended(in[0], bits) >> std::min(by, bits - 1));
  else if (op == "shr") value = by >= bits ? 0 : truncated(in[0], bits) >> by;
  else if (op == "bfe") value = extracted(truncated(in[0], bits), byte(1), byte(2), bits, is_signed);
  else if (op == "bfi") value = inserted(in[0], in[1], byte(2), byte(3), bits);
  else if (op == "prmt") value = permuted(truncated(in[0], 32) | in[1] << 32, in[2]);
  else if (op == "brev") value = reversed(in[0], bits);
  else if (op == "shf") {
    const u64 both = truncated(in[0], 32) | in[1] << 32;
    const u32 places = words[2] == "wrap" ? static_cast<u32>(in[2]) & 31 : std::min<u32>(static_cast<u32>(in[2]), 32);
    value = words[1] == "r" ? both >> places : both << places >> 32;
  } else {
    return false;
  }
  return true;
}

bool integers_computed(const Words& words, const Values& in, u64& value) {
  const std::string &op = words[0], &type = words.back();
  const u32 bits = bits_of_type(type);
  if (op == "add") value = in[0] + in[1];
  else if (op == "sub") value = in[0] - in[1];
  else if (op == "neg") value = 0 - in[0];
  else if (op == "and") value = in[0] & in[1];
  else if (op == "or") value = in[0] | in[1];
  else if (op == "xor") value = in[0] ^ in[1];
  else if (op == "not") value = ~in[0];
  else if (op == "clz") value = static_cast<u64>(std::countl_zero(truncated(in[0], bits))) - (64 - bits);
  else if (op == "popc") value = static_cast<u64>(std::popcount(truncated(in[0], bits)));
  else if (op == "min" || op == "max") value = compared("lt", type, in[0], in[1]) == (op == "min") ? in[0] : in[1];
  else if (op == "mul" || op == "mad") return multiplied(words, in, value);
  else if (op == "div" || op == "rem") {
    if (truncated(in[1], bits) == 0) return false;
    value = divided(words, in);
  } else if (op == "cvt" && words.size() == 3) {
    value = type[0] == 's' ? static_cast<u64>(extended(in[0], bits)) : truncated(in[0], bits);
    if (words[1][0] == 's') value = static_cast<u64>(extended(value, bits_of_type(words[1])));
    else value = truncated(value, bits_of_type(words[1]));
  } else {
    return bits_moved(words, in, value);
  }
  return true;
}

/// Of whatever type.
bool result_of(const Words& words, const Values& in, u64& value) {
  const std::string &op = words[0], &type = words.back();
  if (op == "mov" || (op == "cvta" && words.at(words.size() - 2) == "local")) value = in[0];
  else if (op == "selp") value = in[2] != 0 ? in[0] : in[1];
  else if (op == "setp" && words.size() == 3) value = compared(words[1], type, in[0], in[1]);
  else if (type[0] == 'f' || (op == "cvt" && words.at(words.size() - 2)[0] == 'f'))
    return floats_computed(words, in, value);
  else return integers_computed(words, in, value);
  return true;
}

}  // namespace

struct PtxFunction::Code {
  /// LLVM writes half of a register as `{ .reg .b32 tmp; mov.b64 {tmp, %r1}, %rd1; }`, on one line.
  static std::string without_block(const std::string& line) {
    const size_t mov = line.find("mov.b64 {"), end = line.rfind(';');
    if (line.find(".reg .b32 tmp;") == std::string::npos || mov == std::string::npos) return line;
    std::string text = line.substr(mov, end + 1 - mov);
    return text.replace(text.find("tmp"), 3, "%rtmp");
  }

  static u32 bits_of_register(const std::string& name) {
    for (const char* begin : {"%rd", "%fd", "%SP", "%lhs", "%rhs"}) {  // the last two: of a rotation
      if (name.starts_with(begin)) return 64;
    }
    return name.starts_with("%p") ? 1 : name.starts_with("%rs") ? 16 : 32;
  }

  std::string name;
  std::vector<Statement> statements;
  std::map<std::string, u32> registers, parameters;
  std::vector<u32> bits;  // of each register
  std::map<std::string, size_t> labels;

  u32 register_of(const std::string& name) {
    const auto [at, is_new] = registers.try_emplace(name, static_cast<u32>(registers.size()));
    if (is_new) bits.push_back(bits_of_register(name));
    return at->second;
  }
  u32 parameter_of(const std::string& name) {
    return parameters.try_emplace(name, static_cast<u32>(parameters.size())).first->second;
  }
  Operand operand(std::string text) {
    Operand o;
    if (text[0] == '[') text = text.substr(1, text.size() - 2);
    const size_t plus = text.find_first_of("+-", 1);
    std::string base = text;
    if (plus != std::string::npos) {
      base = text.substr(0, plus);
      o.value = static_cast<u64>(std::stoll(text.substr(plus + (text[plus] == '+'))));
    }
    if (base[0] == '%') {
      o.is_register = true;
      o.number = register_of(base);
    } else if (base.size() > 8 && base[0] == '0' && std::tolower(static_cast<unsigned char>(base[1])) != 'x' &&
               std::isalpha(static_cast<unsigned char>(base[1])) != 0) {
      o.value = std::stoull(base.substr(2), nullptr, 16);  // the bits of a floating-point number
    } else if (base[0] == '-' || std::isdigit(static_cast<unsigned char>(base[0])) != 0) {
      o.value = base[0] == '-' ? static_cast<u64>(std::stoll(base)) : std::stoull(base, nullptr, 0);
    } else {
      o.is_parameter = true;
      o.number = parameter_of(base);
    }
    return o;
  }

  Code(const std::string& ptx, const std::string& name) : name(name) {
    // Declarations of what it calls come before it.
    const size_t function = ptx.rfind(name + "(\n"), body = ptx.find("{\n", function);
    if (function == std::string::npos || body == std::string::npos) throw std::runtime_error("PTX without " + name);
    std::istringstream in(ptx.substr(body + 2));
    std::vector<std::string> targets;
    std::string line, whole;
    while (std::getline(in, line)) {
      if (const size_t comment = line.find("//"); comment != std::string::npos) line.resize(comment);
      while (!line.empty() && (line.back() == ' ' || line.back() == '\t')) line.pop_back();
      const size_t begin = line.find_first_not_of(" \t{");
      if (begin == std::string::npos || line == "}" || line[begin] == '}') continue;
      line = line.substr(begin);
      line = without_block(line);
      if (whole.empty() && line.starts_with("$L") && line.back() == ':') {
        labels[line.substr(0, line.size() - 1)] = statements.size();
        continue;
      }
      whole += line + " ";
      if (line.back() != ';') continue;
      add(whole, targets);
      whole.clear();
    }
    for (size_t i = 0; i < statements.size(); i++) {
      if (targets[i].empty()) continue;
      statements[i].target = labels.at(targets[i]);
    }
  }

  void add(std::string text, std::vector<std::string>& targets) {
    if (text[0] == '.') return;
    text.resize(text.rfind(';'));
    Statement s;
    s.text = text;
    std::istringstream in(text);
    std::string opcode;
    in >> opcode;
    if (opcode[0] == '@') {
      s.guarded = true;
      s.negated = opcode[1] == '!';
      s.guard = register_of(opcode.substr(s.negated ? 2 : 1));
      in >> opcode;
    }
    std::istringstream parts(opcode);
    for (std::string part; std::getline(parts, part, '.');) s.words.push_back(part);
    s.is_shared = std::find(s.words.begin(), s.words.end(), "shared") != s.words.end();
    std::string rest, target;
    std::getline(in, rest);
    std::vector<std::string> names;
    std::string name;
    for (const char c : rest) {
      if (c == ',' || c == '{' || c == '}' || c == '(' || c == ')' || c == ' ' || c == '\t') {
        if (!name.empty()) names.push_back(name);
        name.clear();
      } else {
        name += c;
      }
    }
    if (!name.empty()) names.push_back(name);
    if (s.words[0] == "bra") {
      target = names.at(0);
    } else if (s.words[0] == "call") {
      s.called = names.at(1);
      s.to = {operand(names.at(0))};
      s.from = {operand(names.at(2))};
    } else {
      const bool stores = s.words[0] == "st";
      const size_t brace = rest.find('{');
      const bool is_vector = brace != std::string::npos && rest.find_first_of("%[") > brace;
      const size_t written = stores ? 0 : is_vector ? 2 : 1;
      for (size_t i = 0; i < names.size(); i++) (i < written ? s.to : s.from).push_back(operand(names[i]));
    }
    statements.push_back(std::move(s));
    targets.push_back(target);
  }
};

PtxFunction::PtxFunction(const std::string& ptx, const std::string& name)
    : code_(std::make_unique<const Code>(ptx, name)) {}
PtxFunction::~PtxFunction() = default;
PtxFunction::PtxFunction(PtxFunction&&) noexcept = default;

void PtxFunction::run(std::span<const uint32_t> arguments, std::span<uint8_t> result, uint8_t* shared,
                      const PtxCall& call) const {
  const Code& code = *code_;
  std::vector<u64> registers(code.registers.size()), local(kLocalWords);
  std::vector<std::array<u8, 16>> parameters(code.parameters.size());
  for (size_t i = 0; i < arguments.size(); i++) {
    const auto found = code.parameters.find(code.name + "_param_" + std::to_string(i));
    if (found != code.parameters.end()) std::memcpy(parameters[found->second].data(), &arguments[i], 4);
  }
  if (const auto blocks = code.registers.find("%nctaid.z"); blocks != code.registers.end()) {
    registers[blocks->second] = 1;
  }
  // Where a parameter stands for a value, it is the beginning of the stack.
  const auto get = [&](const Operand& o) {
    if (o.is_parameter) return reinterpret_cast<u64>(local.data());
    return o.is_register ? registers[o.number] + o.value : o.value;
  };
  const auto set = [&](const Operand& o, u64 value) { registers[o.number] = truncated(value, code.bits[o.number]); };
  const auto access = [&](const Statement& s, bool loads) {
    const Operand& place = s.from.at(0);
    const u32 bytes = bits_of_type(s.words.back()) / 8;
    const u64 begin = place.is_parameter ? reinterpret_cast<u64>(parameters[place.number].data()) + place.value
                                         : get(place) + (s.is_shared ? reinterpret_cast<u64>(shared) : 0);
    u8* here = std::bit_cast<u8*>(begin);
    const auto& values = loads ? s.to : s.from;
    for (size_t i = loads ? 0 : 1; i < values.size(); i++, here += bytes) {
      if (!place.is_parameter && reinterpret_cast<u64>(here) % bytes != 0) {
        throw std::runtime_error("an access that is not aligned: " + s.text);
      }
      u64 value = loads ? 0 : get(values[i]);
      if (!loads) std::memcpy(here, &value, bytes);
      else std::memcpy(&value, here, bytes);
      if (loads) set(values[i], s.words.back()[0] == 's' ? static_cast<u64>(extended(value, bytes * 8)) : value);
    }
  };

  size_t at = 0;
  for (u64 count = 0; count < kMostStatements; count++) {
    const Statement& s = code.statements.at(at++);
    if (s.guarded && (registers[s.guard] != 0) == s.negated) continue;
    const std::string& op = s.words[0];
    if (op == "bra") {
      at = s.target;
    } else if (op == "ret") {
      std::memcpy(result.data(), parameters[code.parameters.at("func_retval0")].data(), result.size());
      return;
    } else if (op == "call") {
      call(s.called, parameters[s.to[0].number].data(), parameters[s.from[0].number].data());
    } else if (op == "ld" || op == "st") {
      access(s, op == "ld");
    } else if (op == "exit") {
      throw std::runtime_error("a function ends its thread");
    } else {
      Values in = {};
      for (size_t i = 0; i < s.from.size(); i++) in.at(i) = get(s.from[i]);
      const u32 half = bits_of_type(s.words.back()) / 2;
      if (op == "mov" && s.from.size() == 2) in[0] = truncated(in[0], half) | in[1] << half;
      u64 value = 0;
      if (!result_of(s.words, in, value)) throw std::runtime_error("PTX that this does not know: " + s.text);
      set(s.to.at(0), value);
      if (s.to.size() == 2) set(s.to[1], value >> half);
    }
  }
  throw std::runtime_error("a function does not end");
}

}  // namespace emulated_gpu
