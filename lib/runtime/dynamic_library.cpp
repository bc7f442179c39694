#include "lib/runtime/dynamic_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <vector>

namespace tgc {

Result<DynamicLibrary> DynamicLibrary::open(std::span<const std::string> names) {
  std::string reasons;
  for (const std::string& name : names) {
    DynamicLibrary library;
    library.path_ = name;
    library.handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library.handle_) return library;
    const char* reason = dlerror();
    reasons += (reasons.empty() ? "" : "; ") + std::string(reason ? reason : name + " does not load");
  }
  return Diag{reasons};
}

Result<DynamicLibrary> DynamicLibrary::open(const char* variable, std::initializer_list<std::string> names) {
  if (const char* path = std::getenv(variable); path && *path) return open(std::vector<std::string>{path});
  return open(std::span(names.begin(), names.size()));
}

void* DynamicLibrary::find(const char* name) const { return handle_ ? dlsym(handle_, name) : nullptr; }

}  // namespace tgc
