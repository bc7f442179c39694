// libtgc_llvm.so: LLVM as a library, for CPUs (x86-64, AArch64), AMDGPU and NVPTX. Mirrors tinygrad's runtime/support/compiler_cpu.py
// (LLVMCompiler): parse, verify, default<O2>, emit with PIC and the default level of code generation.
#include "lib/compile/engines.h"

#include <llvm/AsmParser/Parser.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>

#include "lib/compile/llvm_engine/contain.h"
#include "lib/compile/llvm_engine/disassemble.h"
#include "lib/compile/llvm_engine/line_table.h"

namespace tgc {
namespace {

[[noreturn]] void refuse(std::string message, uint32_t line = 0, uint32_t column = 0) {
  throw Refused{{std::move(message), line, column}};
}

void initialize_targets() {
#define TGC_TARGET(name)             \
  LLVMInitialize##name##TargetInfo(); \
  LLVMInitialize##name##Target();     \
  LLVMInitialize##name##TargetMC();   \
  LLVMInitialize##name##AsmPrinter();
  TGC_TARGET(X86) TGC_TARGET(AArch64) TGC_TARGET(AMDGPU) TGC_TARGET(NVPTX)
#undef TGC_TARGET
  LLVMInitializeX86AsmParser(), LLVMInitializeAArch64AsmParser(), LLVMInitializeAMDGPUAsmParser();  // inline assembly (AMX)
  LLVMInitializeX86Disassembler(), LLVMInitializeAArch64Disassembler(), LLVMInitializeAMDGPUDisassembler();
}

// Every feature of this computer, as "+avx2,-sse4a,...".
std::string host_features() {
  std::string out;
  for (const auto& [name, on] : llvm::sys::getHostCPUFeatures()) out += (out.empty() ? "" : ",") + std::string(on ? "+" : "-") + name.str();
  return out;
}

// `m` with this computer's CPU and features for "native".
Machine resolved(Machine m) {
  if (m.cpu != "native") return m;
  static const std::string cpu = llvm::sys::getHostCPUName().str(), features = host_features();
  m.cpu = cpu;
  m.features = features + (m.features.empty() ? "" : "," + m.features);
  return m;
}

std::unique_ptr<llvm::TargetMachine> make_target_machine(const Machine& m) {
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(m.triple, error);
  if (!target) refuse(error);
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(m.triple, m.cpu, m.features, llvm::TargetOptions(), llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Default));
}

// The SLP vectorizer of LLVM 19 makes wrong code for AVX-512 from vectors of more than 128 bits: accumulators change places (compile_test.cpp has
// a kernel). With 128 bits the code is right, and as fast. How wide its vectors are is an option of the whole process: compilations that want
// different widths wait for each other. Lives outside run_contained, which a crash of LLVM leaves without destructors.
class SlpWidth {
 public:
  explicit SlpWidth(const Machine& m) {
    bool narrow = is_avx512(m);
    std::unique_lock lock(mutex_);
    free_.wait(lock, [&] { return users_ == 0 || narrow_ == narrow; });
    if (users_++ == 0) set(narrow);
  }
  ~SlpWidth() {
    std::lock_guard lock(mutex_);
    if (--users_ == 0) free_.notify_all();
  }

 private:
  static bool is_avx512(const Machine& m) {
    std::string error;
    const llvm::Target* target = llvm::TargetRegistry::lookupTarget(m.triple, error);
    if (!target || !llvm::Triple(m.triple).isX86()) return false;
    std::unique_ptr<llvm::MCSubtargetInfo> machine(target->createMCSubtargetInfo(m.triple, m.cpu, m.features));
    return machine && machine->checkFeatures("+avx512vl");
  }
  static void set(bool narrow) {
    if (std::exchange(narrow_, narrow) == narrow) return;
    llvm::cl::Option* width = llvm::cl::getRegisteredOptions()["slp-max-reg-size"];
    if (!width) llvm::report_fatal_error("LLVM has no option slp-max-reg-size");
    if (narrow) width->addOccurrence(0, "slp-max-reg-size", "128");
    else width->reset();
  }

  static inline std::mutex mutex_;
  static inline std::condition_variable free_;
  static inline int users_ = 0;
  static inline bool narrow_ = false;
};

struct CollectErrors : llvm::DiagnosticHandler {
  std::string& errors;
  explicit CollectErrors(std::string& to) : errors(to) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() != llvm::DS_Error) return true;
    llvm::raw_string_ostream out(errors);
    if (!errors.empty()) out << "; ";
    llvm::DiagnosticPrinterRawOStream printer(out);
    info.print(printer);
    return true;
  }
};

std::unique_ptr<llvm::Module> parse(std::string_view text, llvm::LLVMContext& context) {
  llvm::SMDiagnostic error;
  auto module = llvm::parseAssemblyString(llvm::StringRef(text.data(), text.size()), error, context);
  if (!module) refuse(error.getMessage().str(), uint32_t(std::max(error.getLineNo(), 0)), uint32_t(error.getColumnNo() + 1));
  std::string broken;
  llvm::raw_string_ostream out(broken);
  if (llvm::verifyModule(*module, &out)) refuse(broken);
  return module;
}

void optimize(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  tuning.LoopUnrolling = tuning.LoopVectorization = tuning.SLPVectorization = true;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(module, modules);
}

std::string emit(llvm::Module& module, llvm::TargetMachine& machine, Form form) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  if (form == Form::Ir) {
    module.print(out, nullptr);
  } else {
    llvm::legacy::PassManager passes;
    auto kind = form == Form::Object ? llvm::CodeGenFileType::ObjectFile : llvm::CodeGenFileType::AssemblyFile;
    if (machine.addPassesToEmitFile(passes, out, nullptr, kind)) refuse("LLVM cannot make this form of file for " + machine.getTargetTriple().str());
    passes.run(module);
  }
  return std::string(bytes.data(), bytes.size());
}

std::string compile_text(std::string_view text, const Machine& m, Form form, bool lines) {
  llvm::LLVMContext context;
  std::string errors;
  context.setDiagnosticHandler(std::make_unique<CollectErrors>(errors));
  auto machine = make_target_machine(m);
  auto module = parse(text, context);
  module->setTargetTriple(m.triple);
  module->setDataLayout(machine->createDataLayout());
  if (lines) add_line_table(*module, text);
  optimize(*module, *machine);
  std::string out = emit(*module, *machine, form);
  if (!errors.empty()) refuse(errors);
  return out;
}

class Engine final : public LlvmEngine {
 public:
  Engine() { initialize_targets(); }

  Made<std::string> compile(std::string_view text, const Machine& machine, Form form, bool lines) override {
    Machine m = resolved(machine);
    SlpWidth width(m);
    return contained([&] { return compile_text(text, m, form, lines); });
  }
  Made<std::string> disassemble(std::string_view object, const Machine& machine) override {
    return contained([&] { return tgc::disassemble(object, *make_target_machine(resolved(machine))); });
  }
  std::string version() const override { return LLVM_VERSION_STRING; }
};

}  // namespace
}  // namespace tgc

extern "C" __attribute__((visibility("default"))) tgc::LlvmEngine* tgc_llvm_engine() {
  static tgc::Engine* engine = new tgc::Engine;  // never destroyed: LLVM's own statics may be gone before
  return engine;
}
