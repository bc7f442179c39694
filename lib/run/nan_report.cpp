#include "lib/run/nan_report.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "lib/compilation/node_methods.h"
#include "lib/driver/source.h"
#include "lib/records/input_file.h"
#include "lib/run/candidate.h"
#include "lib/run/repro_command.h"
#include "lib/runtime/npz.h"
#include "lib/support/counted.h"
#include "lib/support/json_writer.h"
#include "lib/support/write_file.h"

namespace tgc {
namespace {

using Json = nlohmann::json;

constexpr size_t kMostBytes = 64 << 20;  // maximum size of the .nan.json file in bytes
constexpr int kMostDepth = 512;

// Returns "folder/out" for "folder/out.jsonl.gz".
std::string recording_stem(std::string recording) {
  for (std::string_view end : {".gz", ".jsonl"})
    if (recording.ends_with(end)) recording.resize(recording.size() - end.size());
  return recording;
}

bool has_control_characters(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

// Returns text such as "log at train.py:29"; "" if nothing is recorded.
std::string method_text_of(UOp u, const NodeMethods& methods) {
  std::vector<GoldenMetadata> made_by;
  for (size_t i : methods.method_indices(u)) made_by.push_back(methods[i]);
  return methods_text(made_by);
}

class NanExplainer {
 public:
  NanExplainer(const Session& session, const std::string& recording)
      : session_(session), input_(InputName::parse(recording)), recording_(input_.file) {}

  NanReport explain() {
    const std::string path = recording_stem(recording_) + ".nan.json";
    if (!std::filesystem::exists(path))
      throw Failure(Diag{.message = "there is no " + path + ": no kernel made a NaN of numbers, or nobody watched, " +
                                    "or the program was terminated before",
                         .expected = "a recording of tinygrad_export.py --watch-nan"});
    const std::string text = read_file(path).value_or_throw();
    if (text.size() > kMostBytes) throw Failure(Diag{.message = "a find of more than 64 MiB", .file = path});
    auto checked = [&](int depth, Json::parse_event_t, const Json& parsed) {
      if (depth > kMostDepth) throw Failure(Diag{.message = "a find with too many nested values", .file = path});
      if (parsed.is_string() && has_control_characters(parsed.get_ref<const std::string&>()))
        throw Failure(Diag{.message = "a text with control characters", .file = path});
      return true;
    };
    try {
      const Json document = Json::parse(text, checked, false);
      if (!document.is_object() || document.value("format", "") != "tgc-nan" || !document.contains("found") ||
          !document["found"].is_object())
        throw Failure(Diag{.message = "not a find of --watch-nan", .file = path});
      return make_report(choose_nan_find(document));
    } catch (const Json::exception&) {
      throw Failure(Diag{.message = "a member is missing or has a wrong type", .file = path});
    }
  }

 private:
  // Sets `nan_find_` to the find of the kernel that `#ID` names or, without one, to the first find whose NaNs later
  // kernels passed on or never read, else to the first find. Returns the other finds.
  std::vector<NanReport::OtherNan> choose_nan_find(const Json& document) {
    std::vector<Json> finds{document["found"]};
    if (auto later = document.find("later"); later != document.end())
      finds.insert(finds.end(), later->begin(), later->end());
    auto is_masked = [](const Json& f) { return f.value("read_by", 0) > 0 && f.value("carried_by", 0) == 0; };
    auto id_of = [](const Json& f) { return f.at("id").get<std::string>(); };
    auto chosen = input_.id.empty() ? std::ranges::find_if_not(finds, is_masked)
                                    : std::ranges::find(finds, input_.id, id_of);
    if (chosen == finds.end() && !input_.id.empty())
      throw Failure("--watch-nan kept no NaN of the kernel '" + input_.id + "'");
    if (chosen == finds.end()) chosen = finds.begin();
    nan_find_ = *chosen;
    std::vector<NanReport::OtherNan> out;
    for (auto other = finds.begin(); other != finds.end(); ++other)
      if (other != chosen)
        out.push_back({id_of(*other), other < chosen, spread_text(*other),
                       explain_command(recording_ + "#" + id_of(*other))});
    return out;
  }

  static std::string spread_text(const Json& find) {
    if (!find.contains("read_by")) return {};
    const size_t read = find["read_by"].get<size_t>(), carried = find["carried_by"].get<size_t>();
    if (read == 0) return "which no later kernel read";
    if (carried == 0) return "which no kernel that read it passed on";
    return "which " + count_text(carried, "later kernel call") + " passed on";
  }

  static std::string explain_command(const std::string& input) {
    return "tgc run " + quote_for_shell(input) + " --nan";
  }

  NanReport make_report(std::vector<NanReport::OtherNan> other_nans) {
    NanReport out{.other_nans = std::move(other_nans), .spread = spread_text(nan_find_)};
    out.kernel = nan_find_.at("id").get<std::string>();
    auto source = std::move(GraphSource::open(session_, recording_ + "#" + out.kernel).value_or_throw());
    auto in = std::move(source.next_graph().value_or_throw());
    if (!in) throw Failure(Diag{.message = "there is no record '" + out.kernel + "'", .file = recording_});
    make_candidate(session_, *in)->check_input().value_or_throw();
    if (in->record && in->record->program) out.name = in->record->program->function_name;
    out.kernel_call = kernel_call_text();
    const std::string arrays = recording_stem(recording_) + ".inputs/" + file_name_of(out.kernel);
    const Arrays inputs = std::move(read_arrays(arrays + ".in.npz").value_or_throw());
    const Arrays outputs = std::move(read_arrays(arrays + ".out.npz").value_or_throw());
    const auto& found_in = nan_find_.at("outputs").get_ref<const Json::object_t&>();
    if (found_in.empty()) throw Failure("the find names no output");
    const auto& [name, bad] = *found_in.begin();
    const int64_t element = bad.at("first").get<int64_t>();
    out.output_element = name + "[" + std::to_string(element) + "]",
    out.num_non_finite = bad.at("count").get<int64_t>();
    if (const Array* a = find_array(outputs, name)) out.num_elements = a->size();
    out.repeat_command = explain_command(input_.id.empty() ? recording_ : recording_ + "#" + input_.id);
    out.kernel_command = "tgc run " + quote_for_shell(recording_ + "#" + out.kernel) + " --inputs=" +
                       quote_for_shell(arrays + ".in.npz") + " --expect=" + quote_for_shell(arrays + ".out.npz");
    auto steps = NanOriginFinder(make_kernel_graph(session_, *in).root, inputs, variable_values_in(inputs))
                     .find_steps(name, element);
    if (!steps) out.unexplained_reason = steps.diag().text();
    else {
      const NodeMethods methods(*in, in->record ? in->record->metadata : std::vector<GoldenMetadata>());
      for (NanStep& s : *steps) {
        std::string made_by =
            s.loaded_array.empty() ? method_text_of(s.node, methods) : array_writer_text(s.loaded_array);
        out.nan_steps.push_back({std::move(s), std::move(made_by)});
      }
    }
    return out;
  }

  static VariableValues variable_values_in(const Arrays& arrays) {
    VariableValues out;
    for (const NamedArray& a : arrays)
      if (!a.name.starts_with("data") && a.array.size() == 1)
        if (const double n = element_as_double(a.array, 0); std::abs(n) < 0x1p62) out[a.name] = int64_t(n);
    return out;
  }

  std::string kernel_call_text() const {
    std::string out = "kernel call " + std::to_string(nan_find_.at("call").get<int64_t>()) + " of the program (run " +
                      std::to_string(nan_find_.at("run").get<int64_t>()) + " of this kernel";
    if (nan_find_.contains("jit"))
      out += "; call " + std::to_string(nan_find_["jit"].at("call").get<int64_t>()) + " of TinyJit " +
             nan_find_["jit"].at("function").get<std::string>();
    const Json lines = nan_find_.value("asked_by", Json::array());
    if (!lines.empty()) out += "; " + lines[0].get<std::string>();
    return out + ")";
  }

  std::string array_writer_text(const std::string& array) const {
    const Json inputs = nan_find_.value("inputs", Json::object());
    if (!inputs.contains(array) || !inputs[array].is_object()) return "no kernel stored it";
    return "stored by kernel " + inputs[array].at("id").get<std::string>() + " in call " +
           std::to_string(inputs[array].at("call").get<int64_t>());
  }

  const Session& session_;
  const InputName input_;
  const std::string& recording_;
  Json nan_find_;
};

}  // namespace

std::string NanReport::text() const {
  std::string out = kernel + (name.empty() ? "" : " " + name) + ": " + output_element + " is not a number\n", place;
  for (const Step& s : nan_steps) {
    out +=
        "  " + s.step.operation_text + (s.step.operands_text.empty() ? "" : ", where " + s.step.operands_text) + "\n";
    if (!s.made_by.empty()) out += "    " + s.made_by + "\n";
    if (s.step.loop_values_text != place && !s.step.loop_values_text.empty())
      out += "    at " + s.step.loop_values_text + "\n";
    place = s.step.loop_values_text;
  }
  if (!unexplained_reason.empty()) out += "  not explained: " + unexplained_reason + "\n";
  out += "  " + kernel_call +
         (num_elements > 0 ? "; " + std::to_string(num_non_finite) + " of " + count_text(num_elements, "element") +
                                 " of " + output_element.substr(0, output_element.find('['))
                           : "") +
         (spread.empty() ? "" : "; " + spread) + "\n";
  for (const OtherNan& f : other_nans)
    out += "  " + std::string(f.is_earlier ? "before" : "after") + " it " + f.kernel + " made a NaN, " + f.spread +
           ": " + f.explain_command + "\n";
  return out + "  the kernel alone: " + kernel_command + "\n  again: " + repeat_command + "\n";
}

std::string NanReport::json() const {
  std::string out;
  JsonWriter json(out);
  json.object([&] {
    json.member("kernel", kernel)
        .member("name", name)
        .member("call", kernel_call)
        .member("output", output_element)
        .member("bad", num_non_finite)
        .member("size", num_elements)
        .member("spread", spread);
    json.key("others").array([&] {
      for (const OtherNan& f : other_nans)
        json.object([&] {
          json.member("kernel", f.kernel)
              .member("is_earlier", f.is_earlier)
              .member("spread", f.spread)
              .member("again", f.explain_command);
        });
    });
    json.key("steps").array([&] {
      for (const Step& s : nan_steps)
        json.object([&] {
          json.member("text", s.step.operation_text)
              .member("operands", s.step.operands_text)
              .member("place", s.step.loop_values_text)
              .member("made_by", s.made_by);
        });
    });
    if (!unexplained_reason.empty()) json.member("unexplained", unexplained_reason);
    json.member("again", repeat_command).member("kernel_again", kernel_command);
  });
  return out;
}

Result<NanReport> explain_nan(const Session& session, const std::string& recording) {
  return catch_failures([&] { return NanExplainer(session, recording).explain(); });
}

}  // namespace tgc
