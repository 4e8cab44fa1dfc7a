// SPDX-License-Identifier: Apache-2.0
#include "translate/device_code.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "translate/lane_columns.h"
#include "translate/llvm/errors.h"

namespace myriarm::translate {
namespace {

/// The operation of the host for an intrinsic of the GPU; null: it is none of those.
llvm::Value* operation_of(llvm::IRBuilder<>& ir, llvm::IntrinsicInst& call) {
  auto operand = [&](unsigned i) { return call.getArgOperand(i); };
  switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::nvvm_add_rn_f:
    case llvm::Intrinsic::nvvm_add_rn_d: return ir.CreateFAdd(operand(0), operand(1));
    case llvm::Intrinsic::nvvm_mul_rn_f:
    case llvm::Intrinsic::nvvm_mul_rn_d: return ir.CreateFMul(operand(0), operand(1));
    case llvm::Intrinsic::nvvm_div_rn_f:
    case llvm::Intrinsic::nvvm_div_rn_d: return ir.CreateFDiv(operand(0), operand(1));
    case llvm::Intrinsic::nvvm_sqrt_rn_f:
    case llvm::Intrinsic::nvvm_sqrt_rn_d: return ir.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, operand(0));
    case llvm::Intrinsic::nvvm_fma_rn_f:
    case llvm::Intrinsic::nvvm_fma_rn_d:
      return ir.CreateIntrinsic(llvm::Intrinsic::fma, {call.getType()}, {operand(0), operand(1), operand(2)});
    default: return nullptr;
  }
}

/// The same for an operation that is written as PTX; null too if there is no text, which only the optimiser looks at.
llvm::Value* operation_of(llvm::IRBuilder<>& ir, llvm::CallInst& call, const llvm::InlineAsm& written) {
  auto operand = [&](unsigned i) { return call.getArgOperand(i); };
  const std::string text(written.getAsmString());
  if (text.empty()) return nullptr;
  if (text == "mov.u32 $0, %nctaid.z;") return ir.getInt32(1);
  if (text == "mad.lo.s32 $0, $1, $2, $3;") return ir.CreateAdd(ir.CreateMul(operand(0), operand(1)), operand(2));
  if (text == "shr.s32 $0, $1, $2;") return ir.CreateAShr(operand(0), operand(1));
  if (text == "shr.s64 $0, $1, $2;") return ir.CreateAShr(operand(0), ir.CreateZExt(operand(1), ir.getInt64Ty()));
  if (text == "and.b32 $0, $1, 1;") return ir.CreateAnd(operand(0), 1);
  throw std::runtime_error("PTX that this does not know: " + text);
}

constexpr const char* kFindsPage = "find_page_here";
void find_page_here(DevicePage* page, u32 column, u32 team, u64 address) {
  *page = page_found_for(column, team, address);
}

/// A call of find_page_here() that takes the place of one of myriarm_find_page().
llvm::Value* page_found_here(llvm::IRBuilder<>& ir, llvm::CallInst& call) {
  llvm::Function& caller = *call.getFunction();
  llvm::IRBuilder<> at_entry(&caller.getEntryBlock(), caller.getEntryBlock().begin());
  llvm::Value* page = at_entry.CreateAlloca(call.getType());
  llvm::Type *i32 = ir.getInt32Ty(), *types[] = {ir.getPtrTy(), i32, i32, ir.getInt64Ty()};
  const llvm::FunctionCallee here =
      caller.getParent()->getOrInsertFunction(kFindsPage, llvm::FunctionType::get(ir.getVoidTy(), types, false));
  ir.CreateCall(here, {page, caller.getArg(0), caller.getArg(2), call.getArgOperand(0)});  // its column and its team
  return ir.CreateLoad(call.getType(), page);
}

void use_operations_of_host(llvm::Function& function) {
  for (llvm::Instruction& at : llvm::make_early_inc_range(llvm::instructions(function))) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(&at);
    if (call == nullptr) continue;
    llvm::IRBuilder<> ir(call);
    llvm::Value* value = nullptr;
    if (auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(call)) value = operation_of(ir, *intrinsic);
    if (auto* written = llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand()))
      value = operation_of(ir, *call, *written);
    if (call->getCalledFunction() != nullptr && call->getCalledFunction()->getName() == kFindPageName)
      value = page_found_here(ir, *call);
    if (value == nullptr) continue;
    call->replaceAllUsesWith(value);
    call->eraseFromParent();
  }
}

/// Adds "run": it calls the region and stores the parts of its result, so that no convention for structures matters.
void add_entry(llvm::Module& module, llvm::Function& region) {
  llvm::IRBuilder<> ir(module.getContext());
  std::vector<llvm::Type*> types = {ir.getPtrTy()};
  for (const llvm::Argument& argument : region.args()) types.push_back(argument.getType());
  auto* run = llvm::Function::Create(llvm::FunctionType::get(ir.getVoidTy(), types, false),
                                     llvm::Function::ExternalLinkage, "run", module);
  ir.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "", run));
  std::vector<llvm::Value*> arguments;
  for (llvm::Argument& argument : run->args()) arguments.push_back(&argument);
  llvm::Value* result = ir.CreateCall(&region, llvm::ArrayRef(arguments).drop_front());
  const u64 offsets[] = {offsetof(DeviceRegionResult, pc), offsetof(DeviceRegionResult, nzcv),
                         offsetof(DeviceRegionResult, left)};
  for (unsigned i = 0; i < 3; i++) {
    ir.CreateStore(ir.CreateExtractValue(result, i), ir.CreateConstGEP1_64(ir.getInt8Ty(), run->getArg(0), offsets[i]));
  }
  ir.CreateRetVoid();
}

}  // namespace

HostedRegion hosted(const llvm::Module& region, const std::string& name) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::SmallVector<char, 0> bitcode;
  llvm::raw_svector_ostream out(bitcode);
  const std::unique_ptr<llvm::Module> copy = llvm::CloneModule(region);
  // Without it LLVM warns of each module.
  copy->addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  llvm::WriteBitcodeToFile(*copy, out);
  auto context = std::make_unique<llvm::LLVMContext>();
  std::unique_ptr<llvm::Module> module = value_of(llvm::parseBitcodeFile(
      llvm::MemoryBufferRef(llvm::StringRef(bitcode.data(), bitcode.size()), "region"), *context));
  auto target = value_of(llvm::orc::JITTargetMachineBuilder::detectHost());
  target.getOptions().AllowFPOpFusion = llvm::FPOpFusion::Strict;
  HostedRegion result;
  result.code = value_of(llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(target).create());
  module->setTargetTriple(result.code->getTargetTriple().str());
  module->setDataLayout(result.code->getDataLayout());
  llvm::Function& function = *module->getFunction(name);
  function.removeFnAttr("target-cpu");
  function.removeFnAttr("target-features");
  use_operations_of_host(function);
  add_entry(*module, function);
  std::string mistakes;
  llvm::raw_string_ostream text(mistakes);
  if (llvm::verifyModule(*module, &text)) throw std::runtime_error(mistakes);
  const auto address = llvm::orc::ExecutorAddr::fromPtr(&find_page_here);
  check(result.code->getMainJITDylib().define(llvm::orc::absoluteSymbols(
      {{result.code->mangleAndIntern(kFindsPage), {address, llvm::JITSymbolFlags::Exported}}})));
  check(result.code->addIRModule(llvm::orc::ThreadSafeModule(std::move(module), std::move(context))));
  result.run = value_of(result.code->lookup("run")).toPtr<HostedRegion::Function>();
  return result;
}

}  // namespace myriarm::translate
