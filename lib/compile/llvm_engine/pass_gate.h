// Limits which of LLVM's optional passes run, and lists them, to bisect for a wrong pass; and seeds faults. Passes are
// numbered from 1 in the order in which they run: optimization first, then code generation. As with `opt
// -opt-bisect-limit=N`, each run of a pass has its own number.
#pragma once
#include <llvm/ADT/Any.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/OptBisect.h>
#include <llvm/Passes/PassBuilder.h>
#include <string>
#include <string_view>
#include <utility>

namespace tgc {

class PassGate : public llvm::OptPassGate {
 public:
  explicit PassGate(int64_t most) : max_passes_(most) {}  // -1: all

  // LLVM's OptPassGate::shouldRunPass is const only in later releases. Without `override`, one of the two versions here
  // overrides it in each release.
  bool isEnabled() const { return true; }
  bool shouldRunPass(llvm::StringRef pass, llvm::StringRef unit) const;
  bool shouldRunPass(llvm::StringRef pass, llvm::StringRef unit) {
    return std::as_const(*this).shouldRunPass(pass, unit);
  }
  // Called before each optional optimization pass. `pass` is its short name, and `of_class` replaces an empty `pass`.
  bool should_run_pass(llvm::StringRef pass, llvm::StringRef of_class, const llvm::Any& unit);

  // a line per optional pass: "instcombine\tfunction (E_4)\n"
  const std::string& pass_list() const { return pass_list_; }

 private:
  int64_t max_passes_;
  mutable int64_t pass_number_ = 0;
  mutable std::string pass_list_;
};

// ---- seeded faults (TGC_FAULT=llvm:NAME, kLlvmFaults), to test bisection of compiler bugs

// Does nothing for a fault that is not a pass.
void add_wrong_pass(llvm::PassBuilder& builder, std::string_view fault);

// Replaces sqrt with fabs before any pass runs: a miscompile that no pass limit avoids.
void replace_sqrt_by_fabs(llvm::Module& module);

}  // namespace tgc
