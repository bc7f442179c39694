#include "lib/inspect/jit_lint.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "lib/support/json_writer.h"

namespace tgc {
namespace {

using Json = nlohmann::json;

constexpr JitFindingKind kKinds[] = {
    {"frozen-value", "a number or a text that the function uses has changed since it was captured"},
    {"frozen-tensor", "a tensor that the function uses, and is not passed, is another one than was captured"},
    {"frozen-object", "the function is called with another object than was captured"},
    {"baked-value", "the function reads a tensor's value into Python"},
    {"side-effect", "the function changes a variable, which a replay does not"},
    {"lost-assign", "an assignment inside the function is carried out by no kernel of it"},
    {"overwritten-output", "what an earlier call returned is used after a later call wrote over it"},
    {"aliased-input", "the first replay's input is the captured output, and later ones are not"},
    {"refused", "the jit raised an error"},
};

// What to do about an error of the jit's, by a word of its message.
struct Remedy {
  std::string_view word, mend;
};
constexpr Remedy kRemedies[] = {
    {"duplicate inputs", "pass each tensor once, or a copy of it: x.clone().realize()"},
    {"non-Tensor", "return tensors alone, and compute the rest outside of the function"},
    {"inside another TinyJit", "jit the outer function alone"},
    {"didn't JIT anything", "realize something that depends on the inputs inside the function"},
    {"access tensor data", "keep .item(), .tolist() and .numpy() outside of the function"},
    {"must be", "pass a tensor with a buffer of its own: x.clone().realize()"},
    {"const", "pass a tensor with a buffer of its own: Tensor([2]).realize(), or x.clone().realize()"},
    {"args mismatch",
     "call it as it was captured: the same shapes, dtypes, views and names of arguments; jit each shape "
     "on its own, or make the size a Variable"},
};

std::string text_of(const Json& j, const char* key) {
  auto at = j.find(key);
  return at != j.end() && at->is_string() ? at->get<std::string>() : std::string();
}

bool is_buffer(const std::string& value) { return value.starts_with("buffer "); }

}  // namespace

std::span<const JitFindingKind> jit_finding_kinds() { return kKinds; }

// A call as it was recorded.
struct JitLint::Call {
  size_t jit = 0, number = 0;
  std::string function, place, from, phase, error;
  std::map<std::string, Json> args;
  std::map<std::string, std::string> sees;
  std::vector<std::string> changes, reads, pending;
  std::vector<int64_t> outputs;
};

struct JitLint::Jit {
  std::string function, place;
  std::optional<Call> captured;
  std::map<size_t, std::vector<int64_t>> outputs;  // of each call
  std::set<std::string> aliased;                   // arguments that were the captured output in the first replay
  size_t replays = 0;
};

Status JitLint::add(std::string_view line, std::string_view file, uint32_t number) {
  try {
    Json j = Json::parse(line);
    if (j.contains("format")) {
      if (text_of(j, "level") == "jit") return Unit{};
      return Diag{.message = "a recording of " + text_of(j, "level") + " records",
                  .file = std::string(file),
                  .expected = "one of TinyJits, as tinygrad_export.py writes it: NAME.jit.jsonl.gz"};
    }
    if (j.at("event") == "read") {
      used(j.at("jit").get<size_t>(), j.at("call").get<size_t>(), j.at("buffer").get<int64_t>(), text_of(j, "place"));
      return Unit{};
    }
    Call now{j.at("jit"),
             j.at("call"),
             text_of(j, "function"),
             text_of(j, "place"),
             text_of(j, "from"),
             text_of(j, "phase"),
             text_of(j, "error"),
             {},
             {},
             {},
             {},
             {},
             {}};
    const Json none;  // what is left out has no items
    auto of = [&](const char* key) -> const Json& { return j.contains(key) ? j[key] : none; };
    for (auto& [name, fact] : of("args").items()) now.args[name] = fact;
    for (auto& [name, value] : of("sees").items()) now.sees[name] = value.get<std::string>();
    for (const Json& name : of("changes")) now.changes.push_back(name.get<std::string>());
    for (const Json& read : of("reads")) now.reads.push_back(text_of(read, "place"));
    for (const Json& lost : of("pending")) now.pending.push_back(text_of(lost, "place"));
    for (const Json& out : of("outputs")) now.outputs.push_back(out.at("buffer").get<int64_t>());
    call(now);
    return Unit{};
  } catch (const Json::exception& e) {
    return Diag{
        .message = "a line that is no event: " + std::string(e.what()), .file = std::string(file), .line = number};
  }
}

void JitLint::find(const Jit& jit, std::string_view what, const std::string& where, std::string happens,
                   std::string mend, const std::string& once) {
  if (!told_.insert(jit.function + "\n" + jit.place + "\n" + std::string(what) + "\n" + (once.empty() ? where : once))
           .second)
    return;
  findings_.push_back({std::string(what), jit.function, where, std::move(happens), std::move(mend)});
}

void JitLint::call(const Call& now) {
  calls_++;
  auto& slot = jits_[now.jit];
  if (!slot) slot = std::make_shared<Jit>(Jit{now.function, now.place, {}, {}, {}, 0});
  Jit& jit = *slot;
  const std::string& where = now.from.empty() ? now.place : now.from;
  if (!now.error.empty()) {
    std::string mend = "see the message";
    for (const Remedy& r : kRemedies)
      if (now.error.find(r.word) != now.error.npos) {
        mend = r.mend;
        break;
      }
    return find(jit, "refused", where, "call " + std::to_string(now.number) + " raises " + now.error, mend);
  }
  for (const std::string& place : now.reads)
    find(jit, "baked-value", place, "the value that is read when the function is traced is used in every later call",
         "read it outside of the function, and pass what depends on it");
  for (const std::string& name : now.changes)
    find(jit, "side-effect", now.place, "'" + name + "' changes while the function is traced, and no more after that",
         "change it outside of the function", name);
  if (now.phase == "capture")
    for (const std::string& place : now.pending)
      find(jit, "lost-assign", place,
           "nothing of the captured kernels carries the assignment out, so a replay leaves it out",
           "realize it inside the function: x.assign(y).realize()");
  if (now.phase == "capture") jit.captured = now;
  for (auto& [name, fact] : now.args)
    if (fact.contains("of")) used(fact["of"][0], fact["of"][1], fact.value("buffer", int64_t(-1)), where);
  if (now.phase == "replay" && jit.captured) compare_with_capture(jit, now);
  outputs(jit, now);
}

void JitLint::compare_with_capture(Jit& jit, const Call& now) {
  const Call& then = *jit.captured;
  const std::string& where = now.from.empty() ? now.place : now.from;
  for (auto& [name, value] : now.sees) {
    auto before = then.sees.find(name);
    if (before == then.sees.end() || before->second == value) continue;
    if (is_buffer(value))
      find(jit, "frozen-tensor", where, "'" + name + "' is another tensor than was captured; the captured one is used",
           "pass it as an argument, or assign to it in place: " + name + ".assign(...).realize()", name);
    else
      find(jit, "frozen-value", where,
           "'" + name + "' is " + value + " here, and stays " + before->second + ", as captured",
           "pass it as a tensor, or as a Variable", name);
  }
  jit.replays++;
  for (auto& [name, fact] : now.args) {
    auto before = then.args.find(name);
    if (before == then.args.end()) continue;
    std::string kind = text_of(fact, "kind");
    if (kind == "value" && before->second != fact)
      find(jit, "frozen-value", where,
           "the argument '" + name + "' is " + text_of(fact, "value") + " here, and stays " +
               text_of(before->second, "value") + ", as captured: what hangs on it, branches too, does not change",
           "pass it as a tensor, or jit a function for each value", name);
    if (kind == "object" && before->second.value("object", 0) != fact.value("object", 0))
      find(jit, "frozen-object", where,
           "'" + name + "' is another " + text_of(fact, "type") + " than was captured, whose tensors are used",
           "make a TinyJit for each object: self.step = TinyJit(self.step)", name);
    if (kind != "tensor") continue;
    const bool is_output =
        std::find(then.outputs.begin(), then.outputs.end(), fact.value("buffer", int64_t(-1))) != then.outputs.end();
    if (jit.replays == 1 && is_output) jit.aliased.insert(name);
    if (jit.replays > 1 && !is_output && jit.aliased.contains(name))
      find(jit, "aliased-input", where,
           "'" + name +
               "' was the captured output in the first replay, and is not here: a graph that "
               "was made then leaves that buffer out",
           "pass a copy in the first replay: x.clone().realize()", name);
  }
}

// What a call wrote, so that what earlier ones returned there is no more.
void JitLint::outputs(Jit& jit, const Call& now) {
  auto& written = jit.outputs[now.number];
  for (int64_t buffer : now.outputs) {
    auto passed = [&](auto& arg) { return arg.second.value("buffer", int64_t(-1)) == buffer; };  // and changed in place
    if (std::none_of(now.args.begin(), now.args.end(), passed)) written.push_back(buffer);
  }
}

void JitLint::used(size_t number, size_t call, int64_t buffer, const std::string& where) {
  auto known = jits_.find(number);
  if (known == jits_.end()) return;
  for (auto later = known->second->outputs.upper_bound(call); later != known->second->outputs.end(); ++later)
    if (std::find(later->second.begin(), later->second.end(), buffer) != later->second.end())
      return find(
          *known->second, "overwritten-output", where,
          "what call " + std::to_string(call) + " returned was written over by call " + std::to_string(later->first),
          "keep a copy of it: f(x).clone().realize()");
}

std::string JitLint::text() const {
  std::string out;
  for (const JitFinding& f : findings_)
    out += f.where + ": " + f.what + " in " + f.function + "\n  " + f.happens + "\n  to mend it: " + f.mend + "\n";
  return out + std::to_string(calls_) + " calls of " + std::to_string(jits_.size()) + " TinyJits, " +
         std::to_string(findings_.size()) + (findings_.size() == 1 ? " finding\n" : " findings\n");
}

std::string JitLint::json() const {
  std::string out;
  JsonWriter json(out);
  json.object([&] {
    json.member("calls", calls_).member("jits", jits_.size());
    json.key("findings").array([&] {
      for (const JitFinding& f : findings_)
        json.line().object([&] {
          json.member("what", f.what).member("function", f.function).member("where", f.where);
          json.member("happens", f.happens).member("mend", f.mend);
        });
    });
  });
  return out + "\n";
}

}  // namespace tgc
