// libtgc_llvm.so: LLVM as a library, for CPUs (x86-64, AArch64), AMDGPU and NVPTX. Mirrors tinygrad's LLVMCompiler:
// parse, verify, default<O2>, then emit position-independent code at the default optimization level of code generation.
// Huge sources get fewer passes, and code generation without optimization.
#include "lib/compile/engines.h"

#include <llvm/AsmParser/Parser.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassInstrumentation.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>

#include "lib/compile/llvm_engine/code_generator.h"
#include "lib/compile/llvm_engine/contain.h"
#include "lib/compile/llvm_engine/disassemble.h"
#include "lib/compile/llvm_engine/pass_gate.h"
#include "lib/compile/llvm_engine/targets.h"

namespace tgc {
namespace {

[[noreturn]] void throw_rejection(std::string message, uint32_t line = 0, uint32_t column = 0) {
  throw ThrownCompilerError{{std::move(message), line, column}};
}

std::string host_features() {
  std::string out;
  for (const auto& [name, on] : llvm::sys::getHostCPUFeatures())
    out += (out.empty() ? "" : ",") + std::string(on ? "+" : "-") + name.str();
  return out;
}

MachineSpec resolve_native_cpu(MachineSpec m) {
  if (m.cpu != "native") return m;
  static const std::string cpu = llvm::sys::getHostCPUName().str(), cpu_features = host_features();
  m.cpu = cpu;
  m.cpu_features = cpu_features + (m.cpu_features.empty() ? "" : "," + m.cpu_features);
  return m;
}

// Sets the SLP vectorizer's maximum vector width for one compilation. LLVM 19's SLP vectorizer miscompiles for AVX-512
// with vectors wider than 128 bits: accumulators are permuted. The width is global to the process, so compilations that
// need different widths wait for each other. Construct the object outside of run_contained_work(), because a crash of
// LLVM skips the destructors of objects inside.
class ScopedSlpWidth {
 public:
  explicit ScopedSlpWidth(bool narrow) {
    std::unique_lock lock(mutex_);
    width_released_.wait(lock, [&] { return num_users_ == 0 || is_narrow_ == narrow; });
    if (num_users_++ == 0) set_narrow_width(narrow);
  }
  ~ScopedSlpWidth() {
    std::lock_guard lock(mutex_);
    if (--num_users_ == 0) width_released_.notify_all();
  }

 private:
  static void set_narrow_width(bool narrow) {
    if (std::exchange(is_narrow_, narrow) == narrow) return;
    llvm::cl::Option* width = llvm::cl::getRegisteredOptions()["slp-max-reg-size"];
    if (!width) llvm::report_fatal_error("LLVM has no option slp-max-reg-size");
    if (narrow) width->addOccurrence(0, "slp-max-reg-size", "128");
    else width->reset();
  }

  static inline std::mutex mutex_;
  static inline std::condition_variable width_released_;
  static inline int num_users_ = 0;
  static inline bool is_narrow_ = false;
};

struct ErrorCollector : llvm::DiagnosticHandler {
  std::string& errors;
  explicit ErrorCollector(std::string& to) : errors(to) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() != llvm::DS_Error) return true;
    llvm::raw_string_ostream out(errors);
    if (!errors.empty()) out << "; ";
    llvm::DiagnosticPrinterRawOStream printer(out);
    info.print(printer);
    return true;
  }
};

std::unique_ptr<llvm::Module> parse_module(std::string_view text, llvm::LLVMContext& context) {
  llvm::SMDiagnostic error;
  auto module = llvm::parseAssemblyString(llvm::StringRef(text.data(), text.size()), error, context);
  if (!module)
    throw_rejection(error.getMessage().str(), uint32_t(std::max(error.getLineNo(), 0)),
                    uint32_t(error.getColumnNo() + 1));
  std::string broken;
  llvm::raw_string_ostream out(broken);
  if (llvm::verifyModule(*module, &out)) throw_rejection(broken);
  return module;
}

// These passes are fast also for large modules.
constexpr const char* kFewerPasses = "function(sroa,early-cse<memssa>,simplifycfg,loop-mssa(licm),adce)";

void optimize_module(llvm::Module& module, llvm::TargetMachine& machine, const PassPlan& plan, PassGate* gate) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  tuning.LoopUnrolling = tuning.LoopVectorization = tuning.SLPVectorization = true;
  // skip CalledValuePropagation: it visits every value but only helps calls through pointers, which kernels do not have
  llvm::PassInstrumentationCallbacks callbacks;
  callbacks.registerShouldRunOptionalPassCallback([&](llvm::StringRef pass, llvm::Any unit) {
    return (!gate || gate->should_run_pass(callbacks.getPassNameForClassName(pass), pass, unit)) &&
           pass != "CalledValuePropagationPass";
  });
  llvm::PassBuilder builder(&machine, tuning, std::nullopt, &callbacks);
  if (!plan.wrong_pass.empty()) add_wrong_pass(builder, plan.wrong_pass);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  if (!plan.runs_only_fast_passes) {
    builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(module, modules);
    return;
  }
  llvm::ModulePassManager fewer;
  llvm::cantFail(builder.parsePassPipeline(fewer, kFewerPasses));
  fewer.run(module, modules);
}

std::string print_module(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  module.print(out, nullptr);
  return text;
}

std::string compile_module(CodeGenerator& generator, std::string_view text, const MachineSpec& machine, OutputForm form,
                           bool lines, const PassPlan& plan) {
  llvm::LLVMContext context;
  std::string errors;
  std::optional<PassGate> gate;
  if (plan.max_passes >= 0 || plan.lists_passes) context.setOptPassGate(gate.emplace(plan.max_passes));
  context.setDiagnosticHandler(std::make_unique<ErrorCollector>(errors));
  auto module = parse_module(text, context);
  using Triple = std::remove_cvref_t<decltype(module->getTargetTriple())>;  // a string until LLVM 20
  module->setTargetTriple(Triple(machine.triple));
  module->setDataLayout(generator.machine().createDataLayout());
  if (lines) add_line_table(*module, text);
  if (plan.wrong_pass == "intrinsic") replace_sqrt_by_fabs(*module);
  optimize_module(*module, generator.machine(), plan, gate ? &*gate : nullptr);
  std::string out = form == OutputForm::Ir ? print_module(*module) : generator.emit_code(*module, form);
  if (!errors.empty()) throw_rejection(errors);
  return plan.lists_passes ? gate->pass_list() : out;
}

// The module must be destroyed before the generator is reused, because passes may refer to the module.
std::string compile_text(std::string_view text, CodeGeneratorPool& generators, OutputForm form, bool lines,
                         const PassPlan& plan) {
  auto generator = generators.acquire_generator();
  std::string out = compile_module(*generator, text, generators.machine_spec(), form, lines, plan);
  generators.release_generator(std::move(generator));
  return out;
}

class LlvmEngineImpl final : public LlvmEngine {
 public:
  LlvmEngineImpl() {
    initialize_targets();
    LLVMInitializeX86Disassembler(), LLVMInitializeAArch64Disassembler(), LLVMInitializeAMDGPUDisassembler();
  }

  EngineResult<std::string> compile(std::string_view text, const MachineSpec& machine, OutputForm form, bool lines,
                                    const PassPlan& plan) override {
    CodeGeneratorPool& generators = generator_pool_of(machine, plan.runs_only_fast_passes);
    ScopedSlpWidth width(generators.has_avx512() && plan.wrong_pass != "wide-slp");
    return contained_result([&] { return compile_text(text, generators, form, lines, plan); });
  }
  EngineResult<std::string> disassemble_object(std::string_view object, const MachineSpec& machine) override {
    return contained_result(
        [&] { return tgc::disassemble_object(object, CodeGenerator(resolve_native_cpu(machine)).machine()); });
  }
  std::string version() const override { return LLVM_VERSION_STRING; }

 private:
  CodeGeneratorPool& generator_pool_of(const MachineSpec& machine, bool fast) {
    MachineSpec m = resolve_native_cpu(machine);
    std::lock_guard lock(mutex_);
    return generator_pools_.try_emplace(std::tuple(m.triple, m.cpu, m.cpu_features, fast), m, fast).first->second;
  }

  std::mutex mutex_;
  std::map<std::tuple<std::string, std::string, std::string, bool>, CodeGeneratorPool> generator_pools_;
};

}  // namespace
}  // namespace tgc

extern "C" __attribute__((visibility("default"))) tgc::LlvmEngine* tgc_llvm_engine() {
  // never destroyed: LLVM's static objects may be destroyed earlier
  static tgc::LlvmEngineImpl* engine = new tgc::LlvmEngineImpl;
  return engine;
}
