#pragma once
#include <functional>
#include <string>
#include <string_view>

namespace tgc {

using JsonNameCallback = std::function<void(int depth, const std::string& name)>;  // depth: levels around the name

// Returns true if `text` is JSON with at most `max_levels` levels of lists and objects. Calls `on_name` for the
// members' names.
bool is_json_within_levels(std::string_view text, int max_levels, const JsonNameCallback& on_name = {});

}  // namespace tgc
