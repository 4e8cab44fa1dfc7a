// SPDX-License-Identifier: Apache-2.0
#include "translate/ptx_machine.h"

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

#include "translate/find_page.h"

namespace myriarm::translate {
namespace {

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

}  // namespace

struct PtxRegion::Code {
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

  explicit Code(const std::string& ptx) {
    std::istringstream in(ptx.substr(ptx.find("{\n", ptx.find("region(")) + 2));
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
      if (names.at(1) != kFindPageName) throw std::runtime_error("PTX calls " + names.at(1));
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

PtxRegion::PtxRegion(const std::string& ptx) : code_(std::make_unique<const Code>(ptx)) {}
PtxRegion::~PtxRegion() = default;
PtxRegion::PtxRegion(PtxRegion&&) noexcept = default;

DeviceRegionResult PtxRegion::run(u32 column, u32 entry, u32 team, u32 left, u32 nzcv) const {
  const Code& code = *code_;
  std::vector<u64> r(code.registers.size());
  std::vector<std::array<u8, 16>> parameters(code.parameters.size());
  const u32 given[] = {column, entry, team, left, nzcv};
  for (int i = 0; i < 5; i++) {
    const auto found = code.parameters.find("region_param_" + std::to_string(i));
    if (found != code.parameters.end()) std::memcpy(parameters[found->second].data(), &given[i], 4);
  }
  if (const auto blocks = code.registers.find("%nctaid.z"); blocks != code.registers.end()) r[blocks->second] = 1;
  std::vector<u64> local(kLocalWords);
  const auto get = [&](const Operand& o) {
    if (o.is_parameter) return reinterpret_cast<u64>(local.data());
    return o.is_register ? r[o.number] + o.value : o.value;
  };
  const auto set = [&](const Operand& o, u64 value) { r[o.number] = truncated(value, code.bits[o.number]); };
  u64 count = 0;
  for (size_t at = 0;; at++) {
    const Statement& s = code.statements.at(at);
    if (++count > kMostStatements) throw std::runtime_error("the region does not end");
    if (s.guarded && (r[s.guard] != 0) == s.negated) continue;
    const std::string& op = s.words[0];
    const std::string& type = s.words.back();
    const auto in = [&](size_t i) { return get(s.from.at(i)); };
    const auto unknown = [&] { return std::runtime_error("PTX that this does not know: " + s.text); };
    if (op == "bra") {
      at = s.target - 1;
      continue;
    }
    if (op == "ret") {
      DeviceRegionResult result;
      std::memcpy(&result, parameters[code.parameters.at("func_retval0")].data(), sizeof result);
      return result;
    }
    if (op == "exit") throw std::runtime_error("a region ends its thread");
    if (op == "call") {
      u64 address = 0;
      std::memcpy(&address, parameters[s.from[0].number].data(), 8);
      auto* facts = reinterpret_cast<DeviceTeamFacts*>(u64{team});
      const DevicePage page = find_page(facts, (column - facts->columns) / 8, address);
      std::memcpy(parameters[s.to[0].number].data(), &page, sizeof page);
      continue;
    }
    const u32 bits = bits_of_type(type);
    const bool is_signed = type[0] == 's';
    if (op == "ld" || op == "st") {
      const Operand& place = s.from.at(0);
      u8* const begin = place.is_parameter ? const_cast<u8*>(parameters[place.number].data()) + place.value
                                           : reinterpret_cast<u8*>(get(place));
      const auto& values = op == "ld" ? s.to : s.from;
      const size_t first = op == "ld" ? 0 : 1;
      for (size_t i = first; i < values.size(); i++) {
        u8* const here = begin + (i - first) * bits / 8;
        if (reinterpret_cast<u64>(here) % (bits / 8) != 0 && !place.is_parameter)
          throw std::runtime_error("misaligned: " + s.text);
        u64 value = 0;
        if (op == "ld") {
          std::memcpy(&value, here, bits / 8);
          set(values[i], is_signed ? static_cast<u64>(extended(value, bits)) : value);
        } else {
          value = get(values[i]);
          std::memcpy(here, &value, bits / 8);
        }
      }
      continue;
    }
    u64 value = 0;
    const bool is_float = type[0] == 'f' || (op == "cvt" && s.words.at(s.words.size() - 2)[0] == 'f');
    if (is_float && op != "mov" && op != "selp" && op != "setp") {
      const u64 sign = u64{1} << (bits - 1), a = in(0), b = s.from.size() > 1 ? in(1) : 0,
                c = s.from.size() > 2 ? in(2) : 0;
      bool known = true;
      if (op == "neg") value = a ^ sign;
      else if (op == "abs") value = a & ~sign;
      else if (op == "cvt") known = converted(s.words, a, value);
      else if (bits == 32) {
        const auto as_float = [](u64 word) { return std::bit_cast<float>(static_cast<u32>(word)); };
        known = s.words.at(1) == "rn" && computed(op, as_float(a), as_float(b), as_float(c), value);
      } else {
        known = s.words.at(1) == "rn" &&
                computed(op, std::bit_cast<double>(a), std::bit_cast<double>(b), std::bit_cast<double>(c), value);
      }
      if (!known) throw unknown();
      set(s.to.at(0), value);
      continue;
    }
    if (op == "cvta") {
      set(s.to.at(0), in(0));
      continue;
    }
    if (op == "mov" && s.to.size() == 2) {
      set(s.to[0], in(0));
      set(s.to[1], in(0) >> bits / 2);
      continue;
    }
    if (op == "mov") value = s.from.size() == 2 ? truncated(in(0), bits / 2) | in(1) << bits / 2 : in(0);
    else if (op == "add") value = in(0) + in(1);
    else if (op == "sub") value = in(0) - in(1);
    else if (op == "neg") value = 0 - in(0);
    else if (op == "and") value = in(0) & in(1);
    else if (op == "or") value = in(0) | in(1);
    else if (op == "xor") value = in(0) ^ in(1);
    else if (op == "not") value = ~in(0);
    else if (op == "shl") value = (u32)in(1) >= bits ? 0 : truncated(in(0), bits) << (u32)in(1);
    else if (op == "shr") {
      const u32 by = std::min<u32>((u32)in(1), is_signed ? bits - 1 : bits);
      value = is_signed ? static_cast<u64>(extended(in(0), bits) >> by) : by >= 64 ? 0 : truncated(in(0), bits) >> by;
    } else if (op == "mul" || op == "mad") {
      const i64 a = extended(in(0), bits), b = extended(in(1), bits);
      const u64 x = truncated(in(0), bits), y = truncated(in(1), bits);
      if (s.words[1] == "lo") value = x * y;
      else if (s.words[1] == "wide") value = is_signed ? static_cast<u64>(a * b) : x * y;
      else if (s.words[1] == "hi" && is_signed) value = static_cast<u64>(static_cast<__int128>(a) * b >> bits);
      else if (s.words[1] == "hi") value = static_cast<u64>(static_cast<unsigned __int128>(x) * y >> bits);
      else throw unknown();
      if (op == "mad") value += in(2);
    } else if (op == "setp") {
      if (s.words.size() != 3) throw unknown();
      value = compared(s.words[1], type, in(0), in(1));
    } else if (op == "selp") value = in(2) != 0 ? in(0) : in(1);
    else if (op == "cvt") {
      if (s.words.size() != 3) throw unknown();
      const std::string& to = s.words[1];
      value = is_signed ? static_cast<u64>(extended(in(0), bits)) : truncated(in(0), bits);
      value = truncated(value, bits_of_type(to));
      if (to[0] == 's') value = static_cast<u64>(extended(value, bits_of_type(to)));
    } else if (op == "bfe")
      value = extracted(truncated(in(0), bits), (u32)in(1) & 255, (u32)in(2) & 255, bits, is_signed);
    else if (op == "bfi") {
      const u32 from = (u32)in(2) & 255, length = (u32)in(3) & 255;
      value = in(1);
      for (u32 i = 0; i < length && from + i < bits; i++) {
        value = (value & ~(u64{1} << (from + i))) | (in(0) >> i & 1) << (from + i);
      }
    } else if (op == "prmt") {
      const u64 bytes = truncated(in(0), 32) | in(1) << 32;
      for (u32 i = 0; i < 4; i++) {
        const u32 choice = (u32)(in(2) >> 4 * i) & 15;
        u64 byte = bytes >> 8 * (choice & 7) & 255;
        if ((choice & 8) != 0) byte = (byte & 128) != 0 ? 255 : 0;
        value |= byte << 8 * i;
      }
    } else if (op == "shf") {
      const u64 both = truncated(in(0), 32) | in(1) << 32;
      const u32 by = s.words[2] == "wrap" ? (u32)in(2) & 31 : std::min<u32>((u32)in(2), 32);
      value = s.words[1] == "r" ? both >> by : (both << by) >> 32;
    } else if (op == "clz") value = bits == 64 ? std::countl_zero(in(0)) : std::countl_zero((u32)in(0));
    else if (op == "popc") value = std::popcount(truncated(in(0), bits));
    else if (op == "brev") {
      for (u32 i = 0; i < bits; i++) value |= (in(0) >> i & 1) << (bits - 1 - i);
    } else if (op == "min" || op == "max") {
      const bool less = compared("lt", type, in(0), in(1));
      value = less == (op == "min") ? in(0) : in(1);
    } else if (op == "div" || op == "rem") {
      if (truncated(in(1), bits) == 0) throw std::runtime_error("division by zero: " + s.text);
      if (is_signed) {
        const i64 a = extended(in(0), bits), b = extended(in(1), bits);
        value = static_cast<u64>(op == "div" ? (b == -1 ? static_cast<i64>(0 - static_cast<u64>(a)) : a / b)
                                             : (b == -1 ? 0 : a % b));
      } else {
        const u64 a = truncated(in(0), bits), b = truncated(in(1), bits);
        value = op == "div" ? a / b : a % b;
      }
    } else {
      throw unknown();
    }
    set(s.to.at(0), value);
  }
}

}  // namespace myriarm::translate
