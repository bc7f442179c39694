// libtgc_lld.so: lld as a library; links a relocatable AMDGPU object into the code object that a driver loads. Separate
// from libtgc_llvm.so because lld needs all of LLVM, which takes long to load.
#include <lld/Common/Driver.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/Support/raw_ostream.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>
#include <stdexcept>

#include "lib/compile/engines.h"
#include "lib/compile/llvm_engine/contain.h"

LLD_HAS_DRIVER(elf)

#ifdef TGC_STATIC
// For link-time optimization, which tgc does not use, lld initializes all targets of LLVM. These empty functions take
// the place of LLVM's, so that the code of the targets is not linked.
#define TGC_NOTHING(name) \
  extern "C" void name() {}
#define LLVM_TARGET(name)                       \
  TGC_NOTHING(LLVMInitialize##name##TargetInfo) \
  TGC_NOTHING(LLVMInitialize##name##Target) TGC_NOTHING(LLVMInitialize##name##TargetMC)
#include <llvm/Config/Targets.def>
#define LLVM_ASM_PARSER(name) TGC_NOTHING(LLVMInitialize##name##AsmParser)
#include <llvm/Config/AsmParsers.def>
#define LLVM_ASM_PRINTER(name) TGC_NOTHING(LLVMInitialize##name##AsmPrinter)
#include <llvm/Config/AsmPrinters.def>
#endif

namespace tgc {
namespace {

namespace fs = std::filesystem;

// A temporary folder whose name has the same form as TemporaryFolder's, so that remove_leftover_folders() removes the
// folder after a crash.
struct LinkFolder {
  std::string path;
  LinkFolder() {
    std::error_code error;
    fs::path base = fs::temp_directory_path(error);
    if (error) throw std::runtime_error("there is no folder for temporary files (TMPDIR): " + error.message());
    path = (base / ("tgc-" + std::to_string(::getpid()) + "-XXXXXX")).string();
    if (!::mkdtemp(path.data()))
      throw std::runtime_error(base.string() + ": cannot make a temporary folder: " + std::strerror(errno));
  }
  ~LinkFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
};

// Throws std::runtime_error if linking fails.
std::string link_object(std::string_view object) {
  static std::mutex one_at_a_time;  // lld has global state
  std::lock_guard lock(one_at_a_time);
  LinkFolder folder;
  std::string in = folder.path + "/kernel.o", out = folder.path + "/kernel.hsaco";
  std::ofstream written(in, std::ios::binary);
  written.write(object.data(), std::streamsize(object.size()));
  written.close();
  if (!written) throw std::runtime_error(in + ": cannot write");
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  const char* args[] = {"ld.lld",      "-m",       "elf64_amdgpu", "-shared",  "--no-undefined",
                        "--threads=1", in.c_str(), "-o",           out.c_str()};
  lld::Result result = lld::lldMain(args, llvm::nulls(), stream, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode != 0) {
    if (size_t at = messages.find("error: "); at != messages.npos) messages.erase(0, at + 7);
    throw std::runtime_error("lld: " + messages.substr(0, messages.find("\n>>>")));
  }
  std::ifstream file(out, std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  if (!file || !bytes) throw std::runtime_error(out + ": cannot read");
  return bytes.str();
}

class LldEngineImpl final : public LldEngine {
 public:
  EngineResult<std::string> link_code_object(std::string_view object) override {
    return contained_result([&] { return link_object(object); });
  }
  std::string version() const override { return LLVM_VERSION_STRING; }
};

}  // namespace
}  // namespace tgc

extern "C" __attribute__((visibility("default"))) tgc::LldEngine* tgc_lld_engine() {
  // never destroyed: LLVM's static objects may be destroyed earlier
  static tgc::LldEngineImpl* engine = new tgc::LldEngineImpl;
  return engine;
}
