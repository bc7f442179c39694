#include "lib/compile/llvm_engine/pass_gate.h"

#include <llvm/Analysis/LazyCallGraph.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Module.h>

namespace tgc {
namespace {

std::string text_of(const llvm::Any& unit) {
  if (llvm::any_cast<const llvm::Module*>(&unit)) return "module";
  if (auto* f = llvm::any_cast<const llvm::Function*>(&unit)) return "function (" + (*f)->getName().str() + ")";
  if (auto* l = llvm::any_cast<const llvm::Loop*>(&unit))
    return "loop " + (*l)->getName().str() + " in function (" + (*l)->getHeader()->getParent()->getName().str() + ")";
  if (auto* c = llvm::any_cast<const llvm::LazyCallGraph::SCC*>(&unit)) return (*c)->getName();
  return "unknown";
}

}  // namespace

bool PassGate::shouldRunPass(llvm::StringRef pass, llvm::StringRef unit) const {
  list_ += pass.str() + "\t" + unit.str() + "\n";
  return ++number_ <= most_ || most_ < 0;
}

bool PassGate::should_run(llvm::StringRef pass, llvm::StringRef of_class, const llvm::Any& unit) {
  return shouldRunPass(pass.empty() ? of_class : pass, text_of(unit));
}

}  // namespace tgc
