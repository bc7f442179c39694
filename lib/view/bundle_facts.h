#pragma once
#include <string>

#include "lib/records/repro.h"

namespace tgc {

// Returns what the page of `tgc view` shows of a repro bundle besides its graph, as JSON:
// {"symptom","said","device","fault","script","oracle","blamed":{},"variables":{},"tolerance":{},"made_by":{},
// "inputs":[{"name","dtype","shape","count","values"}],"expected":[...]}. "oracle" says where the expected results come
// from. "count" is the number of elements, and "values" has the first elements as text. The other members are those of
// Repro. If `should_strip_paths` is true, "script", a shell command, is empty.
std::string bundle_facts(const Repro& bundle, bool should_strip_paths);

}  // namespace tgc
