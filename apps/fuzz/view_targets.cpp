// The target of HTTP requests to the server of `tgc view`.
#include "apps/fuzz/target.h"
#include "lib/view/request.h"

namespace tgc::fuzz {

void read_request(Bytes bytes) {
  std::string_view text = text_of(bytes);
  auto request = parse_request(text);
  if (!must_say(request)) return;
  must(text.starts_with("GET " + request->path), "another path than was asked for: " + request->path);
  must(is_whole_request(text), "half a request was taken");
}

}  // namespace tgc::fuzz
