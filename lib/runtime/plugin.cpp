#include "lib/runtime/plugin.h"

#include "lib/runtime/dynamic_library.h"

namespace tgc {

Result<std::unique_ptr<Device>> make_plugin_device(std::string_view path_and_options) {
  size_t colon = path_and_options.find(':');
  std::string path(path_and_options.substr(0, colon));
  std::string options(colon == path_and_options.npos ? "" : path_and_options.substr(colon + 1));
  if (path.empty()) return Diag{.message = "a plugin needs a path", .expected = "plugin:PATH of a shared library"};
  // add a slash: for a name without a slash, the loader searches only the system's folders
  if (path.find('/') == path.npos) path = "./" + path;
  const std::string names[] = {path};
  auto library = DynamicLibrary::open(names);
  if (!library) return Diag{"the plugin does not load: " + library.diag().message};
  TgcDeviceFunction* make = nullptr;
  if (auto status = library->bind(make, "tgc_device"); !status)
    return Diag{"not a tgc plugin: " + status.diag().message};
  std::unique_ptr<Device> device(make(kDeviceInterfaceVersion, options.c_str()));
  if (!device)
    return Diag{"the plugin '" + path + "' does not support version " + std::to_string(kDeviceInterfaceVersion) +
                " of the device interface"};
  return device;
}

}  // namespace tgc
