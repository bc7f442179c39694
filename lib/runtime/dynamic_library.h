// A shared library that is loaded when first needed: drivers and plugins. tgc is linked with none of them.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "lib/support/result.h"

namespace tgc {

class DynamicLibrary {
 public:
  DynamicLibrary() = default;
  // The first of `names` that loads; an error gives each one's reason. A library stays loaded to the end of the
  // process: drivers start threads and register exit handlers.
  static Result<DynamicLibrary> open(std::span<const std::string> names);
  // The file that the environment variable names, else the first of `names`: how a driver in an unusual place is found.
  static Result<DynamicLibrary> open(const char* variable, std::initializer_list<std::string> names);

  // The address of a function; null when the library has none of that name.
  void* find(const char* name) const;
  // Sets each pointer to the function of its name; an error names the first one that is missing.
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
