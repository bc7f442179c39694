#include "lib/run/repro_bundle.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "lib/rewrite/fault.h"
#include "lib/run/repro_command.h"
#include "lib/runtime/npz.h"
#include "lib/support/json_writer.h"
#include "lib/support/version.h"
#include "lib/support/write_file.h"
#include "lib/text/pyrender.h"
#include "passes/kernel/optimizer/optimizer.h"

namespace tgc {
namespace {

using Kind = FailureSignature::Kind;

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name"))
      if (size_t at = line.find(": "); at != line.npos) return line.substr(at + 2);
  return "";
}

Arrays read_arrays_or_bundle(const std::string& option, const std::vector<ReproArray> Repro::* bundled,
                             const RunOptions& options, const InputGraph& in, std::string& source) {
  source = fill_in_name(option, options.input, in);
  if (!option.empty()) return std::move(read_arrays(source).value_or_throw());
  if (!in.read_report.repro) return {};
  source = in.file;
  return arrays_from_bundle(*in.read_report.repro.*bundled);
}

}  // namespace

RunOptions options_with_bundle(RunOptions options, const InputGraph& in) {
  if (!in.read_report.repro) return options;
  const Repro& bundle = *in.read_report.repro;
  if (options.device.name.empty()) options.device.name = bundle.device;
  for (auto& [name, value] : bundle.variables) options.input.variables.try_emplace(name, value);
  auto asked = [&](const char* name) {
    auto it = bundle.tolerance.find(name);
    return it == bundle.tolerance.end() ? std::nullopt : std::optional(it->second);
  };
  ToleranceOptions& t = options.compare.tolerance;
  if (t.rtol || t.atol || t.ulp) return options;
  t.rtol = asked("rtol"), t.atol = asked("atol");
  if (auto ulp = asked("ulp")) t.ulp = uint64_t(std::min(*ulp, 1e18));
  return options;
}

Result<Arrays> read_given_inputs(const RunOptions& options, const InputGraph& in, std::string& source) {
  return catch_failures(
      [&] { return read_arrays_or_bundle(options.input.arrays_file, &Repro::inputs, options, in, source); });
}
Result<Arrays> given_expected_arrays(const RunOptions& options, const InputGraph& in, std::string& source) {
  if (!options.compare.reference_device.empty()) return Arrays();
  return catch_failures(
      [&] { return read_arrays_or_bundle(options.compare.expected_file, &Repro::expected, options, in, source); });
}

Result<TrialInputs> make_trial_inputs(const RunOptions& options, const InputGraph& in) {
  TrialInputs out{.variables = options.input.variables};
  auto arrays = read_given_inputs(options, in, out.arrays_file);
  if (!arrays) return arrays.diag();
  out.arrays = std::move(*arrays);
  if (has_own_arrays(options.input)) {
    const std::vector<UOp> nodes = in.list.empty() ? toposort(in.root) : in.list;
    std::set<std::string> known;
    for (const BufferSpec& b : buffers_of_nodes(nodes)) known.insert(b.name());
    for (const VariableSpec& v : variables_of_nodes(nodes)) known.insert(v.name);
    auto named = check_array_names(out.arrays, known, out.arrays_file, "the kernel has no array");
    if (!named) return named.diag();
  }
  if (options.input.arrays_file.empty() || options.input.seed) out.seed = options.input.seed.value_or(0);
  else out.seed.reset();
  if (in.record) out.recorded_variables = in.record->var_vals;
  return out;
}

std::vector<ReproArray> arrays_to_bundle(const Arrays& arrays) {
  std::vector<ReproArray> out;
  for (const auto& [name, a] : arrays)
    out.push_back({name,
                   a.dtype(),
                   {a.shape().begin(), a.shape().end()},
                   std::string(reinterpret_cast<const char*>(a.data()), a.nbytes())});
  return out;
}

Arrays arrays_from_bundle(const std::vector<ReproArray>& arrays) {
  Arrays out;
  for (const ReproArray& a : arrays) {
    out.push_back({a.name, Array(a.dtype, a.shape)});
    std::memcpy(out.back().array.data(), a.bytes.data(), a.bytes.size());
  }
  return out;
}

std::string bundle_text(const Session& session, const RunOptions& options, const InputGraph& in, const Placement& place,
                        Repro repro) {
  repro.device = place.device_option();
  const char* fault = std::getenv("TGC_FAULT");
  if (repro.seeded_fault.empty() && fault) repro.seeded_fault = fault;
  const std::vector<UOp> nodes = in.list.empty() ? toposort(in.root) : in.list;
  const VariableValues& given = options.input.variables;
  for (const VariableSpec& v : variables_of_nodes(nodes))  // test-case reduction may have removed a variable of --var
    if (auto it = given.find(v.name); it != given.end()) repro.variables.insert(*it);
  const ToleranceOptions& t = options.compare.tolerance;
  if (t.rtol) repro.tolerance["rtol"] = *t.rtol;
  if (t.atol) repro.tolerance["atol"] = *t.atol;
  if (t.ulp) repro.tolerance["ulp"] = double(*t.ulp);
  repro.made_by = {{"tgc", std::string(tgc_version())}, {"tinygrad", session.compiler()->release_name()}};
  if (!llvm_version().empty()) repro.made_by["llvm"] = llvm_version();
  if (std::string cpu = processor_name(); !cpu.empty()) repro.made_by["cpu"] = cpu;
  auto buffers = buffers_of_nodes(nodes);
  // drops arrays of zeros that the kernel does not read
  std::erase_if(repro.inputs, [&](const ReproArray& a) {
    auto b = std::ranges::find(buffers, a.name, &BufferSpec::name);
    return b != buffers.end() && !b->is_read && a.bytes.find_first_not_of('\0') == a.bytes.npos;
  });
  GraphInfo info{.name = in.info.name,
                 .stage = in.info.stage,
                 .target = place.target ? place.target->name() : "",
                 .settings = session.compiler()->settings_of_bundle(in, place.target ? place.target->device : "")};
  if (!in.list.empty()) return repro_to_json(repro, list_to_json(in.list, info));
  UOp root = in.root;
  if (!session.overrides.opts.empty() && root.is(Op::SINK)) {  // stores the opts of --opts in the bundle's graph
    auto opts = std::move(read_opts(*in.graph, session.overrides.opts, "--opts").value_or_throw());
    root = sink_with_opts(root, opts);
  }
  return repro_to_json(repro, graph_to_json(root, info));
}

Result<std::string> write_bundle(const Session& session, const RunOptions& options, const InputGraph& in,
                                 const Placement& place, Repro repro, const std::string& name) {
  repro.description = repro.description.substr(0, repro.description.find('\n'));
  return catch_failures([&] {
    const std::string& graph = name.empty() ? in.info.name : name;
    std::string path =
        reserve_path(options.output.repro_path, options, graph, is_recorded_in_file(in)).value_or_throw();
    write_file(path, bundle_text(session, options, in, place, std::move(repro))).value_or_throw();
    return path;
  });
}

bool should_repeat_failure(const InputGraph& in, const RunOptions& options) {
  bool more = !options.output.repro_path.empty() || !options.output.save_path.empty() || options.device.timed_runs ||
              options.compare.should_run_each_stage || options.device.should_use_sanitizer;
  return in.read_report.repro && !in.read_report.repro->symptom.empty() && !more;
}

RepeatReport repeat_failure(const Session& session, InputGraph& in, const RunOptions& given) {
  const Repro& bundle = *in.read_report.repro;
  RepeatReport out{.kernel = in.info.name, .recorded_kind = bundle.symptom};
  const RunOptions options = options_with_bundle(given, in);
  out.device = options.device.name;
  if (bundle.symptom == name_of(Kind::Script) || bundle.symptom == name_of(Kind::Differs)) {
    out.error = "that it is '" + bundle.symptom + "' a command said, which is yours to run" +
                (bundle.script.empty() ? "" : ": " + bundle.script);  // the bundle's command is only shown, never run
    return out;
  }
  auto by = bundle.made_by.find("tinygrad");
  if (by != bundle.made_by.end())
    if (auto status = session.compiler()->check_can_repeat(by->second); !status) {
      out.error = status.diag().message;
      return out;
    }
  auto now = failure_signature_of(session, in, options);
  if (now) out.current_failure = *now;
  else out.error = now.diag().text();
  return out;
}

std::string RepeatReport::text() const {
  std::string where = kernel + " on " + device + ": ";
  if (is_still_failing()) return where + "it still happens, '" + recorded_kind + "': " + current_failure.message + "\n";
  where += "it no longer happens: '" + recorded_kind + "' it was, ";
  if (current_failure.kind == Kind::None) return where + "and all is well\n";
  return where + "now it is '" + std::string(name_of(current_failure.kind)) + "': " + current_failure.message + "\n";
}

std::string RepeatReport::json() const {
  return json_object([&](JsonWriter& json) {
    json.member("kernel", kernel).member("device", device).member("was", recorded_kind);
    if (!error.empty()) json.member("error", error);
    else
      json.member("now", name_of(current_failure.kind))
          .member("said", current_failure.message)
          .member("happens", is_still_failing());
  }) + "\n";
}

}  // namespace tgc
