#include "lib/support/z3.h"

#include <dlfcn.h>

#include "lib/support/result.h"

namespace tgc {
namespace {

// The functions of libz3 that are used, found at run time.
class Library {
 public:
  static Library& instance() {
    static Library z3;
    if (!z3.handle_)
      throw Failure(Diag{.message = "proofs take Z3, and libz3.so is not there", .expected = "the package libz3-dev"});
    return z3;
  }

  void* (*make_config)() = nullptr;
  void (*delete_config)(void*) = nullptr;
  void* (*make_context)(void*) = nullptr;
  void (*set_error_handler)(void*, void*) = nullptr;
  void (*delete_context)(void*) = nullptr;
  const char* (*eval)(void*, const char*) = nullptr;
  const char* (*version)() = nullptr;
  void (*set_global)(const char*, const char*) = nullptr;

 private:
  Library() {
    for (const char* name : {"libz3.so.4", "libz3.so"})
      if ((handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL))) break;
    if (!handle_) return;
    bool all = find("Z3_mk_config", make_config) && find("Z3_mk_context", make_context) &&
               find("Z3_set_error_handler", set_error_handler) &&
               find("Z3_del_config", delete_config) && find("Z3_del_context", delete_context) &&
               find("Z3_eval_smtlib2_string", eval) && find("Z3_get_full_version", version) &&
               find("Z3_global_param_set", set_global);
    if (!all) handle_ = nullptr;
    if (!handle_) return;
    // Limits of all contexts of the process together: in bytes, and in MB. A question that needs more is not decided.
    set_global("memory_high_watermark", "1200000000");
    set_global("memory_max_size", "1800");
  }
  template <class Function>
  bool find(const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(dlsym(handle_, name));
    return function != nullptr;
  }

  void* handle_ = nullptr;
};

}  // namespace

Z3Session::Z3Session() {
  Library& z3 = Library::instance();
  void* config = z3.make_config();
  context_ = z3.make_context(config);
  z3.delete_config(config);
  z3.set_error_handler(context_, nullptr);  // the default handler ends the process; ask() returns the error
}

Z3Session::~Z3Session() { Library::instance().delete_context(context_); }

std::string Z3Session::ask(const std::string& text) { return Library::instance().eval(context_, text.c_str()); }

std::string z3_version() { return Library::instance().version(); }

}  // namespace tgc
