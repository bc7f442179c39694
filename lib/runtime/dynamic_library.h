// Loads shared libraries (drivers and plugins) on first use. tgc is not linked with any of them.
#pragma once
#include <span>
#include <string>

#include "lib/support/result.h"

namespace tgc {

class DynamicLibrary {
 public:
  DynamicLibrary() = default;
  // Loads the first of `names` that can be loaded; the error lists the reason for each. The library stays loaded until
  // the process ends, because drivers start threads and register exit handlers.
  static Result<DynamicLibrary> open(std::span<const std::string> names);
  // Loads the file that the environment variable `variable` names if it is set, else the first of `names`.
  static Result<DynamicLibrary> open(const char* variable, std::initializer_list<std::string> names);

  // Returns the address of a function, or null if the library does not have it.
  void* find(const char* name) const;
  // Sets `function` to the function `name`; returns an error if the library does not have it.
  template <class Function>
  Status bind(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(find(name));
    if (!function) return Diag{"'" + path_ + "' has no function '" + name + "'"};
    return Unit{};
  }
  const std::string& path() const { return path_; }

 private:
  void* handle_ = nullptr;
  std::string path_;
};

}  // namespace tgc
