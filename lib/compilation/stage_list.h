// `tgc stages`: lists the stages of tgc's own pipeline in order, with alias, level and number of rules.
#pragma once
#include <string>

namespace tgc {

std::string stage_list_text();
std::string stage_list_json();

}  // namespace tgc
