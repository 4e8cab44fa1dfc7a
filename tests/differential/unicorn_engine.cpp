// SPDX-License-Identifier: Apache-2.0
// Runs cases in Unicorn.
#include "unicorn_engine.h"

#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "isa/decoder.h"

namespace myriarm::differential {
namespace {

// QEMU's exception numbers, as UC_HOOK_INTR gives them.
enum Interrupt { kUndefined = 1, kSupervisorCall = 2, kPrefetchAbort = 3, kDataAbort = 4, kBreakpoint = 7 };

// An address at which no case has code.
constexpr uint64_t kNowhere = 0x0000'1234'5678'9AB0;

int register_of(Field field) {
  unsigned n = static_cast<unsigned>(field);
  if (n == 29) return UC_ARM64_REG_X29;
  if (n <= 28) return UC_ARM64_REG_X0 + static_cast<int>(n);
  switch (field) {
    case Field::x30: return UC_ARM64_REG_X30;
    case Field::sp: return UC_ARM64_REG_SP;
    case Field::pc: return UC_ARM64_REG_PC;
    case Field::nzcv: return UC_ARM64_REG_NZCV;
    case Field::tpidr: return UC_ARM64_REG_TPIDR_EL0;
    case Field::fpcr: return UC_ARM64_REG_FPCR;
    case Field::fpsr: return UC_ARM64_REG_FPSR;
    default: return UC_ARM64_REG_Q0 + static_cast<int>(n - static_cast<unsigned>(Field::v0_low));
  }
}

bool is_high_half(Field field) { return field >= Field::v0_high; }

}  // namespace

void UnicornEngine::Free::operator()(uint8_t* p) const { std::free(p); }

void UnicornEngine::check(uc_err error, const char* what) const {
  if (error != UC_ERR_OK) throw std::runtime_error(std::string("Unicorn: ") + what + ": " + uc_strerror(error));
}

UnicornEngine::UnicornEngine(bool vectors) : fields_(compared_fields(vectors)) {
  code_.reset(static_cast<uint8_t*>(std::aligned_alloc(kPageBytes, Layout::code_bytes)));
  data_.reset(static_cast<uint8_t*>(std::aligned_alloc(kPageBytes, Layout::data_bytes)));
  // The registers of one batched access; the two halves of a vector register are one register.
  values_.resize(2 * fields_.size());
  for (size_t i = 0; i < fields_.size(); i++) {
    if (is_high_half(fields_[i]) || fields_[i] == Field::pc) continue;
    registers_.push_back(register_of(fields_[i]));
    pointers_.push_back(&values_[i]);
  }
  open();
}

void UnicornEngine::open() {
  if (uc_) uc_close(uc_);
  uc_ = nullptr;
  check(uc_open(UC_ARCH_ARM64, UC_MODE_ARM, &uc_), "open");
  check(uc_ctl_set_cpu_model(uc_, UC_CPU_ARM64_MAX), "choose the CPU model");
  std::memset(code_.get(), 0, Layout::code_bytes);
  std::memset(data_.get(), 0, Layout::data_bytes);
  check(uc_mem_map_ptr(uc_, Layout::code_begin, Layout::code_bytes, UC_PROT_READ | UC_PROT_EXEC, code_.get()),
        "map the code");
  for (size_t page = 0; page < Layout::pages.size(); page++) {
    uint32_t permissions = Layout::pages[page];
    if (!permissions) continue;
    uint32_t protection = 0;
    if (permissions & kRead) protection |= UC_PROT_READ;
    if (permissions & kWrite) protection |= UC_PROT_WRITE;
    check(uc_mem_map_ptr(uc_, Layout::data_begin + page * kPageBytes, kPageBytes, protection,
                         data_.get() + page * kPageBytes),
          "map the data");
  }
  // Unicorn runs in EL1 with the MMU off. This makes fetches ignore the top byte as for user space under Linux:
  // TCR_EL1.TBI0, not TBI1. For data, QEMU 5 ignores the top byte only with the MMU on: see in_top_byte().
  const uint32_t set_tcr = 0xD5182040;  // msr tcr_el1, x0
  std::memcpy(code_.get(), &set_tcr, 4);
  uint64_t tcr = uint64_t{1} << 37;
  check(uc_reg_write(uc_, UC_ARM64_REG_X0, &tcr), "set x0");
  check(uc_emu_start(uc_, Layout::code_begin, Layout::code_begin + 4, 0, 0), "set TCR_EL1");
  uc_hook hook;
  check(uc_hook_add(uc_, &hook, UC_HOOK_CODE, reinterpret_cast<void*>(on_code), this, 1, 0), "hook the code");
  check(uc_hook_add(uc_, &hook, UC_HOOK_INTR, reinterpret_cast<void*>(on_interrupt), this, 1, 0), "hook exceptions");
  check(uc_hook_add(uc_, &hook, UC_HOOK_MEM_INVALID, reinterpret_cast<void*>(on_invalid), this, 1, 0), "hook faults");
}

UnicornEngine::~UnicornEngine() {
  if (uc_) uc_close(uc_);
}

void UnicornEngine::load(const Batch& batch) {
  // Unicorn 2.0.1 uses more memory with every batch, and once crashed in its list of translations after some thousand
  // batches, presumably because it had grown too large. A new instance is small again.
  if (++loaded_ % 256 == 0) open();
  std::memset(code_.get(), 0, Layout::code_bytes);
  std::memcpy(code_.get(), batch.code.data(), batch.code.size() * 4);
  std::memcpy(data_.get(), batch.data.data(), batch.data.size());
  check(uc_ctl_remove_cache(uc_, Layout::code_begin, Layout::code_begin + Layout::code_bytes), "forget code");
}

void UnicornEngine::on_code(uc_engine* uc, uint64_t address, uint32_t, void* self) {
  auto& engine = *static_cast<UnicornEngine*>(self);
  if (engine.entered_ == engine.limit_) {
    engine.at_limit_ = true;
    uc_emu_stop(uc);
    return;
  }
  engine.entered_++;
  engine.last_pc_ = address;
}

void UnicornEngine::on_interrupt(uc_engine* uc, uint32_t number, void* self) {
  auto& engine = *static_cast<UnicornEngine*>(self);
  engine.interrupt_ = static_cast<int>(number);
  uc_emu_stop(uc);
}

bool UnicornEngine::on_invalid(uc_engine*, uc_mem_type type, uint64_t address, int, int64_t, void* self) {
  auto& engine = *static_cast<UnicornEngine*>(self);
  engine.fault_address_ = address;
  engine.in_top_byte_ = address >> 56 != 0 && type != UC_MEM_FETCH_UNMAPPED;
  return false;
}

State UnicornEngine::run(const Batch& batch, uint32_t lane, uint64_t limit) {
  for (size_t page = 0; page < Layout::pages.size(); page++) {
    if (!(Layout::pages[page] & kWrite)) continue;
    uint8_t* own = data_.get() + page * kPageBytes;
    const uint8_t* first = batch.data.data() + page * kPageBytes;
    if (std::memcmp(own, first, kPageBytes) != 0) std::memcpy(own, first, kPageBytes);
  }
  uint64_t pc = 0;
  for (size_t i = 0; i < fields_.size(); i++) {
    uint64_t value = batch.initial[i][lane];
    if (fields_[i] == Field::pc) pc = value;
    values_[i] = fields_[i] == Field::nzcv ? value << 28 : value;
  }
  check(uc_reg_write_batch(uc_, registers_.data(), pointers_.data(), static_cast<int>(registers_.size())), "set");
  entered_ = 0;
  in_top_byte_ = false;
  limit_ = limit;
  at_limit_ = false;
  interrupt_ = -1;
  fault_address_ = 0;
  uc_err error = uc_emu_start(uc_, pc, kNowhere, 0, 0);

  check(uc_reg_read_batch(uc_, registers_.data(), pointers_.data(), static_cast<int>(registers_.size())), "get");
  check(uc_reg_read(uc_, UC_ARM64_REG_PC, &pc), "get pc");
  State state;
  state.instructions = entered_;
  Stop& stop = state.stop;
  auto not_retired = [&](StopReason reason, FaultKind kind) {
    state.instructions--;
    pc = last_pc_;
    stop.reason = reason;
    stop.fault = kind;
    stop.address = reason == StopReason::fault ? fault_address_ : 0;
  };
  auto fetch_fault = [&](FaultKind kind) {
    stop.reason = StopReason::fault;
    stop.fault = kind;
    stop.address = pc;
  };
  if (at_limit_) {
    stop.reason = StopReason::budget;
  } else if (error == UC_ERR_FETCH_UNMAPPED) {
    fetch_fault(FaultKind::unmapped);
  } else if (error == UC_ERR_FETCH_PROT) {
    fetch_fault(FaultKind::execute);
  } else if (error == UC_ERR_READ_UNMAPPED || error == UC_ERR_WRITE_UNMAPPED) {
    not_retired(StopReason::fault, FaultKind::unmapped);
  } else if (error == UC_ERR_READ_PROT) {
    not_retired(StopReason::fault, FaultKind::read);
  } else if (error == UC_ERR_WRITE_PROT) {
    not_retired(StopReason::fault, FaultKind::write);
  } else if (interrupt_ == kSupervisorCall) {
    stop.reason = StopReason::syscall;
  } else if (interrupt_ == kBreakpoint) {
    not_retired(StopReason::breakpoint, FaultKind::none);
  } else if (interrupt_ == kDataAbort) {
    not_retired(StopReason::fault, FaultKind::alignment);
  } else if (interrupt_ == kPrefetchAbort) {
    fetch_fault(FaultKind::alignment);
  } else {  // UNDEFINED, also HLT, because there is no semihosting
    not_retired(StopReason::undefined, FaultKind::none);
    uint32_t word = 0;
    uint64_t offset = last_pc_ - Layout::code_begin;
    if (offset + 4 <= Layout::code_bytes) std::memcpy(&word, code_.get() + offset, 4);
    stop.address = word;
    if (decode(decode_table(), word).row == kRow_HLT_EX_exception) {
      stop.reason = StopReason::halt;
      stop.address = 0;
    }
  }
  state.values.assign(values_.begin(), values_.begin() + static_cast<std::ptrdiff_t>(fields_.size()));
  for (size_t i = 0; i < fields_.size(); i++) {
    if (fields_[i] == Field::nzcv) state.values[i] = values_[i] >> 28 & 15;
    if (fields_[i] == Field::pc) state.values[i] = pc;
    if (fields_[i] == Field::fpcr || fields_[i] == Field::fpsr) state.values[i] &= 0xFFFFFFFF;
  }
  return state;
}

}  // namespace myriarm::differential
