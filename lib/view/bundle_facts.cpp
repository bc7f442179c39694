#include "lib/view/bundle_facts.h"

#include <algorithm>

#include "lib/run/repro_bundle.h"
#include "lib/support/json_writer.h"

namespace tgc {
namespace {

constexpr int64_t kMostShownElements = 64;

void write_arrays(JsonWriter& json, std::string_view key, const std::vector<ReproArray>& arrays) {
  json.key(key).array([&] {
    for (const auto& [name, array] : arrays_from_bundle(arrays))
      json.object([&] {
        json.member("name", name).member("dtype", array.dtype().repr());
        json.member("shape", std::vector<int64_t>(array.shape().begin(), array.shape().end()));
        json.member("count", array.size());
        json.key("values").array([&] {
          for (int64_t i = 0; i < std::min(array.size(), kMostShownElements); i++) json.value(element_text(array, i));
        });
      });
  });
}

}  // namespace

std::string bundle_facts(const Repro& b, bool should_strip_paths) {
  return json_object([&](JsonWriter& json) {
    const bool is_given = !b.expected.empty(), needs_command = b.symptom == "cmd" || b.symptom == "differs";
    json.member("symptom", b.symptom)
        .member("said", b.description)
        .member("device", b.device)
        .member("fault", b.seeded_fault);
    json.member("script", should_strip_paths ? "" : b.script);
    json.member("oracle", needs_command ? "a command, which is not run here"
                : is_given    ? "the arrays that it expects, which are in it"
                              : "REF, of the graph as it stands");
    json.member("blamed", b.blamed_rewrite).member("variables", b.variables).member("tolerance", b.tolerance);
    json.member("made_by", b.made_by);
    write_arrays(json, "inputs", b.inputs), write_arrays(json, "expected", b.expected);
  });
}

}  // namespace tgc
