// A backend from a shared library: --device=plugin:PATH[:OPTIONS]; see device.h for what the library exports.
#pragma once
#include <memory>
#include <string_view>

#include "lib/runtime/device.h"

namespace tgc {

Result<std::unique_ptr<Device>> make_plugin_device(std::string_view path_and_options);

}  // namespace tgc
