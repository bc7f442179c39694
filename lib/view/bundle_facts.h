// What a repro bundle says of itself, besides the graph, for the page.
#pragma once
#include <string>

#include "lib/text/repro.h"

namespace tgc {

// JSON: {"symptom","said","device","fault","script","oracle","blamed":{},"variables":{},"tolerance":{},"made_by":{},
// "inputs":[{"name","dtype","shape","count","values"}],"expected":[...]}, of each array its first values as text.
// `oracle`: what says which result is right, in words. `strip_paths`: without the command, which names files.
std::string bundle_facts(const Repro& bundle, bool strip_paths);

}  // namespace tgc
