#include "lib/compile/llvm_engine/pass_gate.h"

#include <llvm/Analysis/LazyCallGraph.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

namespace tgc {

namespace {

std::string ir_unit_name(const llvm::Any& unit) {
  if (llvm::any_cast<const llvm::Module*>(&unit)) return "module";
  if (auto* f = llvm::any_cast<const llvm::Function*>(&unit)) return "function (" + (*f)->getName().str() + ")";
  if (auto* l = llvm::any_cast<const llvm::Loop*>(&unit))
    return "loop " + (*l)->getName().str() + " in function (" + (*l)->getHeader()->getParent()->getName().str() + ")";
  if (auto* c = llvm::any_cast<const llvm::LazyCallGraph::SCC*>(&unit)) return (*c)->getName();
  return "unknown";
}

}  // namespace

bool PassGate::shouldRunPass(llvm::StringRef pass, llvm::StringRef unit) const {
  pass_list_ += pass.str() + "\t" + unit.str() + "\n";
  return ++pass_number_ <= max_passes_ || max_passes_ < 0;
}

bool PassGate::should_run_pass(llvm::StringRef pass, llvm::StringRef of_class, const llvm::Any& unit) {
  return shouldRunPass(pass.empty() ? of_class : pass, ir_unit_name(unit));
}

namespace {

template <class Change>
llvm::PreservedAnalyses change_first_instruction(llvm::Function& f, Change change) {
  for (llvm::Instruction& i : llvm::instructions(f))
    if (change(i)) return llvm::PreservedAnalyses::none();
  return llvm::PreservedAnalyses::all();
}

// a + b becomes a - b, for floats
struct WrongSubtract : llvm::PassInfoMixin<WrongSubtract> {
  static llvm::StringRef name() { return "wrong-subtract"; }
  llvm::PreservedAnalyses run(llvm::Function& f, llvm::FunctionAnalysisManager&) {
    return change_first_instruction(f, [](llvm::Instruction& i) {
      if (i.getOpcode() != llvm::Instruction::FAdd) return false;
      auto* other = llvm::BinaryOperator::CreateFSub(i.getOperand(0), i.getOperand(1), "", i.getIterator());
      return i.replaceAllUsesWith(other), true;
    });
  }
};

// a < b becomes !(a < b), if the result is used as a value and not for a branch
struct WrongCompare : llvm::PassInfoMixin<WrongCompare> {
  static llvm::StringRef name() { return "wrong-compare"; }
  llvm::PreservedAnalyses run(llvm::Function& f, llvm::FunctionAnalysisManager&) {
    return change_first_instruction(f, [](llvm::Instruction& i) {
      auto* compare = llvm::dyn_cast<llvm::CmpInst>(&i);
      if (!compare || llvm::any_of(i.users(), [](llvm::User* u) { return llvm::isa<llvm::BranchInst>(u); }))
        return false;
      return compare->setPredicate(compare->getInversePredicate()), true;
    });
  }
};

// c ? a : b becomes c ? b : a
struct WrongSelect : llvm::PassInfoMixin<WrongSelect> {
  static llvm::StringRef name() { return "wrong-select"; }
  llvm::PreservedAnalyses run(llvm::Function& f, llvm::FunctionAnalysisManager&) {
    return change_first_instruction(f, [](llvm::Instruction& i) {
      auto* select = llvm::dyn_cast<llvm::SelectInst>(&i);
      return select ? select->swapValues(), true : false;
    });
  }
};

// a * b becomes a * a, for floats
struct WrongConstant : llvm::PassInfoMixin<WrongConstant> {
  static llvm::StringRef name() { return "wrong-constant"; }
  llvm::PreservedAnalyses run(llvm::Function& f, llvm::FunctionAnalysisManager&) {
    return change_first_instruction(f, [](llvm::Instruction& i) {
      if (i.getOpcode() != llvm::Instruction::FMul || i.getOperand(0) == i.getOperand(1)) return false;
      return i.setOperand(1, i.getOperand(0)), true;
    });
  }
};

// a ^ b becomes a | b
struct WrongXor : llvm::PassInfoMixin<WrongXor> {
  static llvm::StringRef name() { return "wrong-xor"; }
  llvm::PreservedAnalyses run(llvm::Function& f, llvm::FunctionAnalysisManager&) {
    return change_first_instruction(f, [](llvm::Instruction& i) {
      if (i.getOpcode() != llvm::Instruction::Xor) return false;
      auto* other = llvm::BinaryOperator::CreateOr(i.getOperand(0), i.getOperand(1), "", i.getIterator());
      return i.replaceAllUsesWith(other), true;
    });
  }
};

}  // namespace

void add_wrong_pass(llvm::PassBuilder& builder, std::string_view fault) {
  if (fault == "subtract")
    builder.registerScalarOptimizerLateEPCallback([](auto& passes, auto...) { passes.addPass(WrongSubtract()); });
  if (fault == "compare")
    builder.registerOptimizerEarlyEPCallback([](auto& passes, auto...) {
      passes.addPass(llvm::createModuleToFunctionPassAdaptor(WrongCompare()));
    });
  if (fault == "select")
    builder.registerVectorizerStartEPCallback([](auto& passes, auto...) { passes.addPass(WrongSelect()); });
  if (fault == "xor")
    builder.registerVectorizerStartEPCallback([](auto& passes, auto...) { passes.addPass(WrongXor()); });
  if (fault == "constant")
    builder.registerOptimizerLastEPCallback(
        [](auto& passes, auto...) { passes.addPass(llvm::createModuleToFunctionPassAdaptor(WrongConstant())); });
}

void replace_sqrt_by_fabs(llvm::Module& module) {
  for (llvm::Function& f : module)
    for (llvm::Instruction& i : llvm::instructions(f))
      if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i); call && call->getIntrinsicID() == llvm::Intrinsic::sqrt)
        call->setCalledFunction(llvm::Intrinsic::getDeclaration(&module, llvm::Intrinsic::fabs, call->getType()));
}

}  // namespace tgc
