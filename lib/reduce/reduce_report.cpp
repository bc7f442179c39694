// Formats the report of `tgc reduce` about a reduced failing kernel, as text and as JSON.
#include "lib/reduce/reduce.h"

#include "lib/support/counted.h"
#include "lib/support/json_writer.h"

namespace tgc {

std::string ReduceReport::text() const {
  std::string looked = prefiltered ? " (" + std::to_string(prefiltered) + " candidates prefiltered)" : "";
  return formatted("%zu nodes of %zu, after %zu %s%s in %.2f s%s\n", after, before, calls, calls == 1 ? "try" : "tries",
                   looked.c_str(), seconds, interrupted ? "; interrupted, the best so far" : "") +
         "  still " + verdict + "\n";
}

std::string ReduceReport::json() const {
  return json_object([&](JsonWriter& json) {
           if (!error.empty()) return (void)json.member("error", error);
           json.key("before").object([&] { json.member("nodes", before); });
           json.key("after").object([&] { json.member("nodes", after); });
           json.member("calls", calls).member("glances", prefiltered).key("seconds").number(seconds, "%.3f");
           json.member("verdict", verdict);
           if (interrupted) json.member("interrupted", true);
         }) +
         "\n";
}

}  // namespace tgc
