#include "lib/compile/llvm_engine/code_generator.h"

#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>

#include <optional>
#include <utility>

#include "lib/compile/llvm_engine/contain.h"

namespace tgc {
namespace {

std::unique_ptr<llvm::TargetMachine> make_target_machine(const MachineSpec& m, bool fast) {
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(m.triple, error);
  if (!target) throw ThrownCompilerError{{.message = error}};
  llvm::TargetOptions options;
  options.MCOptions.AsmVerbose = true;  // marks spills and reloads in assembly, as clang's default does
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(m.triple, m.cpu, m.cpu_features, options, llvm::Reloc::PIC_, std::nullopt,
                                  fast ? llvm::CodeGenOptLevel::None : llvm::CodeGenOptLevel::Default));
}

bool find_avx512(const MachineSpec& m) {
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(m.triple, error);
  if (!target || !llvm::Triple(m.triple).isX86()) return false;
  std::unique_ptr<llvm::MCSubtargetInfo> machine(target->createMCSubtargetInfo(m.triple, m.cpu, m.cpu_features));
  return machine && machine->checkFeatures("+avx512vl");
}

// The passes for CPUs keep no state of an earlier module, as LLVM's tests require (llc -compile-twice); the passes for
// GPUs accumulate what functions use.
bool can_reuse_passes(const llvm::Triple& triple) { return triple.isX86() || triple.isAArch64(); }

}  // namespace

CodeGenerator::CodeGenerator(const MachineSpec& machine, bool fast) : machine_(make_target_machine(machine, fast)) {}

std::unique_ptr<CodeGenerator::CodeEmitter> CodeGenerator::make_emitter(OutputForm form) {
  auto emitter = std::make_unique<CodeEmitter>();
  auto kind = form == OutputForm::Object ? llvm::CodeGenFileType::ObjectFile : llvm::CodeGenFileType::AssemblyFile;
  if (machine_->addPassesToEmitFile(emitter->passes, emitter->out, nullptr, kind))
    throw ThrownCompilerError{
        {.message = "LLVM cannot make this form of file for " + machine_->getTargetTriple().str()}};
  return emitter;
}

std::string CodeGenerator::emit_code(llvm::Module& module, OutputForm form) {
  std::unique_ptr<CodeEmitter>& kept = emitters_[form == OutputForm::Object];
  auto emitter = kept ? std::move(kept) : make_emitter(form);
  emitter->bytes.clear();
  // for Artifact::Resources; make_listing() drops this section
  machine_->Options.EmitStackSizeSection =
      form == OutputForm::Assembly && can_reuse_passes(machine_->getTargetTriple());
  emitter->passes.run(module);
  std::string out(emitter->bytes.data(), emitter->bytes.size());
  if (can_reuse_passes(machine_->getTargetTriple())) kept = std::move(emitter);
  return out;
}

CodeGeneratorPool::CodeGeneratorPool(MachineSpec machine, bool fast)
    : machine_(std::move(machine)), is_fast_codegen_(fast), has_avx512_(find_avx512(machine_)) {}

std::unique_ptr<CodeGenerator> CodeGeneratorPool::acquire_generator() {
  {
    std::lock_guard lock(mutex_);
    if (!idle_generators_.empty()) {
      auto generator = std::move(idle_generators_.back());
      idle_generators_.pop_back();
      return generator;
    }
  }
  return std::make_unique<CodeGenerator>(machine_, is_fast_codegen_);
}

void CodeGeneratorPool::release_generator(std::unique_ptr<CodeGenerator> generator) {
  std::lock_guard lock(mutex_);
  idle_generators_.push_back(std::move(generator));
}

}  // namespace tgc
