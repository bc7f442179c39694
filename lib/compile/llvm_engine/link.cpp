#include "lib/compile/llvm_engine/link.h"

#include <fcntl.h>
#include <lld/Common/Driver.h>
#include <llvm/Support/raw_ostream.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>
#include <stdexcept>

LLD_HAS_DRIVER(elf)

namespace tgc {
namespace {

namespace fs = std::filesystem;

// lld reads and writes files: this folder holds them, and goes with them.
struct Folder {
  std::string path = (fs::temp_directory_path() / "tgc-link-XXXXXX").string();
  Folder() {
    if (!::mkdtemp(path.data())) throw std::runtime_error("cannot make a temporary folder");
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
};

}  // namespace

std::string link_code_object(std::string_view object) {
  static std::mutex one_at_a_time;  // lld has global state
  std::lock_guard lock(one_at_a_time);
  Folder folder;
  std::string in = folder.path + "/kernel.o", out = folder.path + "/kernel.hsaco";
  std::ofstream(in, std::ios::binary).write(object.data(), std::streamsize(object.size()));
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  const char* args[] = {"ld.lld", "-m", "elf64_amdgpu", "-shared", "--no-undefined", "--threads=1", in.c_str(), "-o", out.c_str()};
  lld::Result result = lld::lldMain(args, llvm::nulls(), stream, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode != 0) {
    if (size_t at = messages.find("error: "); at != messages.npos) messages.erase(0, at + 7);
    throw std::runtime_error("lld: " + messages.substr(0, messages.find("\n>>>")));
  }
  std::ifstream file(out, std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

}  // namespace tgc
