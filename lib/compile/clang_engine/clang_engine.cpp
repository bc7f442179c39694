// libtgc_clang.so: clang as a library. Its compiler proper (cc1) runs in this process on text in memory.
#include <clang/Basic/Diagnostic.h>
#include <clang/Basic/DiagnosticOptions.h>
#include <clang/Basic/Version.h>
#include <clang/CodeGen/CodeGenAction.h>
#include <clang/Driver/Compilation.h>
#include <clang/Driver/Driver.h>
#include <clang/Driver/Job.h>
#include <clang/Driver/Tool.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/TextDiagnosticPrinter.h>
#include <clang/Lex/PreprocessorOptions.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/DebugInfo/DWARF/DWARFContext.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/Path.h>
#include <llvm/Support/VirtualFileSystem.h>

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "lib/compile/engines.h"
#include "lib/compile/llvm_engine/contain.h"
#include "lib/compile/llvm_engine/targets.h"

namespace tgc {
namespace {

class FirstErrorConsumer : public clang::DiagnosticConsumer {
 public:
  explicit FirstErrorConsumer(CompilerError& to) : compiler_error_(to) {}
  void HandleDiagnostic(clang::DiagnosticsEngine::Level level, const clang::Diagnostic& info) override {
    clang::DiagnosticConsumer::HandleDiagnostic(level, info);
    if (level < clang::DiagnosticsEngine::Error || !compiler_error_.message.empty()) return;
    llvm::SmallString<128> text;
    info.FormatDiagnostic(text);
    compiler_error_.message = std::string(text);
    if (!info.hasSourceManager() || info.getLocation().isInvalid()) return;
    clang::PresumedLoc where =
        info.getSourceManager().getPresumedLoc(info.getSourceManager().getExpansionLoc(info.getLocation()));
    if (where.isValid()) compiler_error_.line = where.getLine(), compiler_error_.column = where.getColumn();
  }

 private:
  CompilerError& compiler_error_;
};

[[noreturn]] void throw_rejection(CompilerError compiler_error) {
  if (compiler_error.message.empty()) compiler_error.message = "clang refused the source without a message";
  throw ThrownCompilerError{std::move(compiler_error)};
}

using DiagnosticsPointer = llvm::IntrusiveRefCntPtr<clang::DiagnosticsEngine>;

std::vector<std::string> compiler_arguments(const std::vector<std::string>& command, DiagnosticsPointer diagnostics,
                                            CompilerError& compiler_error) {
  std::vector<const char*> args;
  for (const std::string& a : command) args.push_back(a.c_str());
  clang::driver::Driver driver(args[0], "x86_64-unknown-linux-gnu", *diagnostics);
  driver.setCheckInputsExist(false);
  std::unique_ptr<clang::driver::Compilation> plan(driver.BuildCompilation(args));
  if (plan)
    for (const clang::driver::Command& job : plan->getJobs())
      if (std::string_view(job.getCreator().getName()) == "clang") {
        auto& list = job.getArguments();
        return {list.begin() + 1, list.end()};
      }
  if (compiler_error.message.empty()) compiler_error.message = "clang's driver planned no compilation";
  throw_rejection(compiler_error);
}

// The files that clang sees: its headers in its resource folder, and the AMD libraries that the command line names. The
// source is in memory.
class CompilerFileSystem : public llvm::vfs::ProxyFileSystem {
 public:
  CompilerFileSystem(std::string folder, std::vector<std::string> libraries)
      : ProxyFileSystem(llvm::vfs::getRealFileSystem()), header_folder_(std::move(folder) + "/"),
        libraries_(std::move(libraries)) {}

  llvm::ErrorOr<llvm::vfs::Status> status(const llvm::Twine& path) override {
    return is_visible_path(path) ? ProxyFileSystem::status(path) : kNoSuchFile;
  }
  llvm::ErrorOr<std::unique_ptr<llvm::vfs::File>> openFileForRead(const llvm::Twine& path) override {
    if (is_visible_path(path)) return ProxyFileSystem::openFileForRead(path);
    return kNoSuchFile;
  }
  llvm::vfs::directory_iterator dir_begin(const llvm::Twine& path, std::error_code& error) override {
    if (is_visible_path(path)) return ProxyFileSystem::dir_begin(path, error);
    return error = kNoSuchFile, llvm::vfs::directory_iterator();
  }
  std::error_code getRealPath(const llvm::Twine& path, llvm::SmallVectorImpl<char>& out) override {
    return is_visible_path(path) ? ProxyFileSystem::getRealPath(path, out) : kNoSuchFile;
  }

 private:
  bool is_visible_path(const llvm::Twine& path) const {
    llvm::SmallString<256> plain;
    path.toVector(plain);
    llvm::sys::path::remove_dots(plain, true);
    std::string text(plain);
    return (text + "/").starts_with(header_folder_) || std::ranges::find(libraries_, text) != libraries_.end();
  }

  static inline const std::error_code kNoSuchFile = std::make_error_code(std::errc::no_such_file_or_directory);
  std::string header_folder_;
  std::vector<std::string> libraries_;
};

std::vector<std::string> linked_bitcode_libraries(const std::vector<std::string>& arguments) {
  std::vector<std::string> out;
  for (size_t i = 0; i + 1 < arguments.size(); i++)
    if (arguments[i] == "-mlink-builtin-bitcode") out.push_back(arguments[i + 1]);
  return out;
}

std::unique_ptr<clang::CodeGenAction> make_codegen_action(OutputForm form) {
  switch (form) {
    case OutputForm::Ir: return std::make_unique<clang::EmitLLVMAction>();
    case OutputForm::Assembly: return std::make_unique<clang::EmitAssemblyAction>();
    case OutputForm::Object: break;
  }
  return std::make_unique<clang::EmitObjAction>();
}

// Returns clang's option for the folder of its headers if an installation has them beside this library.
std::vector<std::string> find_header_options() {
  Dl_info own;
  if (!::dladdr(reinterpret_cast<void*>(&find_header_options), &own) || !own.dli_fname) return {};
  std::error_code error;
  const auto folder = std::filesystem::canonical(own.dli_fname, error).parent_path() / "clang";
  if (!std::filesystem::exists(folder / "include", error)) return {};
  return {"-resource-dir=" + folder.string()};
}

std::string compile_text(std::string_view source, const std::string& file, const std::vector<std::string>& arguments,
                         OutputForm form) {
  // clang finds the folder of its headers relative to the first argument
  std::vector<std::string> command{TGC_CLANG_PATH};
  static const std::vector<std::string> headers = find_header_options();
  command.insert(command.end(), headers.begin(), headers.end());
  command.insert(command.end(), arguments.begin(), arguments.end());
  // For a device, pass -S instead of -c. The cc1 arguments are the same, but with -c clang's driver would plan a link
  // step and create temporary files.
  bool for_device = std::ranges::find(arguments, "--cuda-device-only") != arguments.end();
  command.insert(command.end(), {for_device ? "-S" : "-c", file});
  llvm::IntrusiveRefCntPtr<clang::DiagnosticIDs> ids(new clang::DiagnosticIDs);
  CompilerError compiler_error;
  FirstErrorConsumer first(compiler_error);
#if LLVM_VERSION_MAJOR >= 21
  clang::DiagnosticOptions options;
#else
  llvm::IntrusiveRefCntPtr<clang::DiagnosticOptions> options(new clang::DiagnosticOptions);
#endif
  DiagnosticsPointer diagnostics(new clang::DiagnosticsEngine(ids, options, &first, false));
  std::vector<std::string> arguments_of_compiler = compiler_arguments(command, diagnostics, compiler_error);
  if (!compiler_error.message.empty()) throw_rejection(compiler_error);

  std::vector<const char*> args;
  for (const std::string& a : arguments_of_compiler) args.push_back(a.c_str());
  clang::CompilerInstance compiler;
  if (!clang::CompilerInvocation::CreateFromArgs(compiler.getInvocation(), args, *diagnostics))
    throw_rejection(compiler_error);
  compiler.getDiagnosticOpts().ShowCarets = false;  // also suppresses "1 error generated" on standard error
#if LLVM_VERSION_MAJOR >= 20
  compiler.createDiagnostics(*llvm::vfs::getRealFileSystem(), &first, false);
#else
  compiler.createDiagnostics(&first, false);
#endif
  llvm::SmallString<256> folder(compiler.getHeaderSearchOpts().ResourceDir);
  llvm::sys::path::remove_dots(folder, true);
  compiler.createFileManager(
      new CompilerFileSystem(std::string(folder), linked_bitcode_libraries(arguments_of_compiler)));
  auto& preprocessor = compiler.getPreprocessorOpts();
  preprocessor.RetainRemappedFileBuffers = true;
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(source.data(), source.size()), file);
  preprocessor.addRemappedFile(file, buffer.get());
  compiler.getFrontendOpts().DisableFree = false;
  llvm::SmallVector<char, 0> bytes;
  compiler.setOutputStream(std::make_unique<llvm::raw_svector_ostream>(bytes));
  auto action = make_codegen_action(form);
  bool done = compiler.ExecuteAction(*action);
  if (!done || !compiler_error.message.empty()) throw_rejection(compiler_error);
  return std::string(bytes.data(), bytes.size());
}

std::vector<CodeLine> read_line_table(std::string_view object) {
  auto file = llvm::object::ObjectFile::createELFObjectFile(
      llvm::MemoryBufferRef(llvm::StringRef(object.data(), object.size()), "object"));
  if (!file) throw std::runtime_error(llvm::toString(file.takeError()));
  auto context = llvm::DWARFContext::create(**file);
  std::vector<CodeLine> out;
  for (const auto& unit : context->compile_units())
    if (auto* table = context->getLineTableForUnit(unit.get()))
      for (const auto& row : table->Rows) out.push_back({row.Address.Address, row.EndSequence ? 0 : row.Line});
  std::ranges::stable_sort(out, {}, &CodeLine::offset);
  return out;
}

class ClangEngineImpl final : public ClangEngine {
 public:
  ClangEngineImpl() { initialize_targets(); }
  EngineResult<std::string> compile(std::string_view source, const std::string& file,
                                    const std::vector<std::string>& arguments, OutputForm form) override {
    return contained_result([&] { return compile_text(source, file, arguments, form); });
  }
  EngineResult<std::vector<CodeLine>> code_lines(std::string_view object) override {
    return contained_result([&] { return read_line_table(object); });
  }
  std::string version() const override { return CLANG_VERSION_STRING; }
};

}  // namespace
}  // namespace tgc

extern "C" __attribute__((visibility("default"))) tgc::ClangEngine* tgc_clang_engine() {
  // never destroyed: LLVM's static objects may be destroyed earlier
  static tgc::ClangEngineImpl* engine = new tgc::ClangEngineImpl;
  return engine;
}
