// The page of `tgc view` without its data: what scripts/embed_view made of the files in view/.
#pragma once
#include <string_view>

namespace tgc {

std::string_view view_page_code();

}  // namespace tgc
