// Which of LLVM's optional passes run: for finding the one that is wrong. They are counted from 1 in the order in which
// they ask, each on a function, a loop or a module, as OptBisect counts them (`opt -opt-bisect-limit=N`): first those
// that optimize, then those of code generation.
#pragma once
#include <llvm/ADT/Any.h>
#include <llvm/IR/OptBisect.h>

#include <string>

namespace tgc {

class PassGate : public llvm::OptPassGate {
 public:
  explicit PassGate(int64_t most) : most_(most) {}  // so many run; -1: all

  bool isEnabled() const override { return true; }
  // Of code generation.
  bool shouldRunPass(const llvm::StringRef pass, llvm::StringRef unit) override;
  // Of an optimization, by its short name where it has one.
  bool should_run(llvm::StringRef pass, llvm::StringRef of_class, const llvm::Any& unit);

  const std::string& list() const { return list_; }  // of all that asked: "instcombine\tfunction (E_4)\n"

 private:
  int64_t most_, number_ = 0;
  std::string list_;
};

}  // namespace tgc
