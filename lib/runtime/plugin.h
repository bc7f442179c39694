// Loads a backend from a shared library, for --device=plugin:PATH[:OPTIONS]. device.h says what the library exports.
#pragma once
#include <memory>
#include <string_view>

#include "lib/runtime/device.h"

namespace tgc {

Result<std::unique_ptr<Device>> make_plugin_device(std::string_view path_and_options);

}  // namespace tgc
