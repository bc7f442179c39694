#include "lib/emulate/cuda/module.h"

#include <charconv>
#include <cstring>

#include "lib/emulate/cuda/builder.h"

namespace tgc::ptx {

Result<std::unique_ptr<LoadedModule>> LoadedModule::load(std::string_view text, Memory& memory) {
  auto parsed = parse(text);
  if (!parsed) return parsed.diag();
  std::unique_ptr<LoadedModule> out(new LoadedModule(std::move(*parsed), memory));
  auto done = catch_failures([&] { return out->place_variables(), out->translate(), Unit{}; });
  if (!done) return done.diag();
  return out;
}

LoadedModule::~LoadedModule() {
  for (auto& [name, place] : variables_) memory_.free(place.address);
}

void LoadedModule::place_variables() {
  for (const Variable& v : module_.globals) {
    if (v.space != Space::Global && v.space != Space::Const) continue;
    if (v.is_extern)
      throw Failure(
          Diag{.message = "'" + std::string(v.name) + "' is .extern: there is no other module", .line = v.line});
    if (variables_.contains(v.name))
      throw Failure(Diag{.message = "'" + std::string(v.name) + "' is declared twice", .line = v.line});
    uint64_t address = memory_.allocate(std::max<uint64_t>(v.bytes, 1));
    if (!address)
      throw Failure(Diag{.message = "not enough device memory for '" + std::string(v.name) + "'", .line = v.line});
    std::memset(reinterpret_cast<void*>(address), 0, v.bytes);
    std::memcpy(reinterpret_cast<void*>(address), v.initial.data(), v.initial.size());
    variables_[v.name] = {address, v.bytes};
  }
}

void LoadedModule::translate() {
  std::map<std::string_view, uint64_t> addresses;
  for (auto& [name, place] : variables_) addresses[name] = place.address;
  for (const Function& f : module_.functions) {
    Code& code = kernels_[f.name];
    if (code.function)
      throw Failure(Diag{.message = "the kernel '" + std::string(f.name) + "' is defined twice", .line = f.line});
    code.function = &f;
    code.module = &module_;
    Builder(code, addresses).run();
  }
}

const Code* LoadedModule::kernel(std::string_view name) const {
  auto found = kernels_.find(name);
  return found == kernels_.end() ? nullptr : &found->second;
}
const LoadedModule::Place* LoadedModule::variable(std::string_view name) const {
  auto found = variables_.find(name);
  return found == variables_.end() ? nullptr : &found->second;
}

int architecture_of(std::string_view target) {
  int n = 0;
  if (!target.starts_with("sm_")) return 0;
  std::from_chars(target.data() + 3, target.data() + target.size(), n);
  return n;
}

}  // namespace tgc::ptx
