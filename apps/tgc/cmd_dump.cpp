// tgc dump [INPUT]: run the pipeline and print what was asked for.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <map>

#include "apps/tgc/commands.h"
#include "apps/tgc/input.h"
#include "apps/tgc/outputs.h"
#include "apps/tgc/selection.h"
#include "apps/tgc/terminal.h"
#include "lib/text/input_file.h"
#include "passes/pipeline.h"

namespace tgc {
namespace {

namespace fs = std::filesystem;

struct DumpOptions {
  std::string input = "-", kernel, stage, from, format, output;
  PipelineOptions pipeline;
};

constexpr std::string_view kAst = "ast", kAll = "all", kChanged = "changed";

// What can be asked for, in the order it is made.
std::vector<Choice> stage_choices() {
  std::vector<Choice> choices{{kAst, "", ""}};
  for (const Stage& s : kernel_stages()) choices.push_back({s.name, s.alias, s.slug()});
  for (const OutputStage& o : output_stages()) choices.push_back({o.name, o.alias, ""});
  choices.push_back({kAll, "", "", false});
  choices.push_back({kChanged, "", "", false});
  return choices;
}

// One text of the result.
struct Piece {
  size_t number;      // of the stage: 0 is the AST
  std::string stage;  // its name
  std::string slug;
  std::string extension;
  std::string text;
};

class Dumper {
 public:
  explicit Dumper(const DumpOptions& options) : o_(options) {}

  int run() {
    auto prepared = prepare();
    if (!prepared) return trouble(prepared.diag());
    auto input = Input::open(o_.input, o_.kernel, o_.pipeline);
    if (!input) return trouble(input.diag());
    for (;;) {
      auto graph = input->next();
      if (!graph) return trouble(graph.diag());
      if (!*graph) return 0;
      for (const std::string& note : (*graph)->report.notes) std::fprintf(stderr, "tgc: note: %s\n", note.c_str());
      pieces_.clear();
      auto made = make(**graph);
      if (!made) return trouble(made.diag());
      auto written = write(**graph);
      if (!written) return trouble(written.diag());
    }
  }

 private:
  Status prepare() {
    auto choices = stage_choices();
    auto selected = select_stages(o_.stage.empty() ? kAst : std::string_view(o_.stage), choices);
    if (!selected) return selected.diag();
    for (std::string_view name : *selected) {
      if (name == kAll) for (auto& c : choices) wanted_.insert(c.name);
      else if (name == kChanged) only_changed_ = true;
      else wanted_.insert(name);
    }
    if (!o_.format.empty()) {
      format_ = parse_format(o_.format);
      if (!format_) {
        std::string near = nearest_names(o_.format, format_names());
        return Diag{.message = "unknown format '" + o_.format + "'", .expected = near.empty() ? "pyrender, uops, nodes, repr, json or dot" : near};
      }
    }
    if (o_.from.empty() || names_choice(o_.from, choices[0])) return Unit{};
    std::vector<Choice> stages;
    for (const Stage& s : kernel_stages()) stages.push_back({s.name, s.alias, s.slug()});
    auto from = select_stages(o_.from, stages);
    if (!from) return from.diag();
    if (from->size() != 1) return Diag{.message = "--from takes one stage, not '" + o_.from + "'"};
    from_ = find_stage(from->front());
    return Unit{};
  }

  bool wanted(std::string_view name) const { return wanted_.count(name) > 0; }

  Status make(InputGraph& in) {
    const Stage* from = from_;
    if (!from && !in.info.stage.empty()) from = find_stage(in.info.stage);
    size_t number = 0;
    if (!in.list.empty()) {  // a listing is what it is
      bool asked = wanted("linear") || o_.stage.empty();
      if (!asked) return Diag{.message = "a linear list has no stages before it", .expected = "--stage=linear"};
      auto text = write_list(format_.value_or(Format::Uops), in.list, in.info);
      if (!text) return text.diag();
      pieces_.push_back({0, "linear", "linear", std::string(extension_of(format_.value_or(Format::Uops))), std::move(*text)});
      return Unit{};
    }
    if (!from && (wanted(kAst) || o_.stage.empty()))
      if (auto status = add(number, kAst, "ast", in.root, in); !status) return status;
    if (from && o_.stage.empty())
      if (auto status = add(number, from->name, from->slug(), in.root, in); !status) return status;
    bool more = only_changed_ || wanted_.size() > size_t(wanted(kAst));
    return more && !o_.stage.empty() ? run_stages(in, from) : Unit{};
  }

  Status run_stages(InputGraph& in, const Stage* from) {
    if (in.is_tensor_graph)
      return Diag{.message = "'" + in.info.name + "' is a tensor graph, and tgc does not schedule those yet", .expected = "the AST of a kernel, or --stage=ast"};
    auto target = o_.pipeline.resolve_target(in.info.target, in.graph->settings());
    if (!target) return target.diag();
    in.info.target = target->name();
    KernelJob job{*in.graph, *target};
    auto opts = o_.pipeline.forced_opts(*in.graph);
    if (!opts) return opts.diag();
    job.opts = *opts;
    UOp current = from ? in.root : begin_kernel(job, in.root);
    size_t number = 0;
    bool begun = from == nullptr;
    for (const Stage& stage : kernel_stages()) {
      number++;
      if (begun && (!stage.applies || stage.applies(job)) && needed_from(stage.name)) {
        auto result = run_stage(stage, job, current);
        if (!result) return result.diag();
        bool changed = !(*result == current);
        current = *result;
        if (wanted(stage.name) || (only_changed_ && changed))
          if (auto status = add(number, stage.name, stage.slug(), current, in); !status) return status;
      }
      begun |= &stage == from;
    }
    KernelOutputs outputs(job, current);
    for (const OutputStage& output : output_stages()) {
      number++;
      if (!wanted(output.name)) continue;
      if (auto status = add_output(number, output, outputs, in); !status) return status;
    }
    return Unit{};
  }

  // Whether that stage or a later one is asked for.
  bool needed_from(std::string_view name) const {
    if (only_changed_) return true;
    bool reached = false;
    for (const Stage& s : kernel_stages()) {
      reached |= s.name == name;
      if (reached && wanted(s.name)) return true;
    }
    for (const OutputStage& o : output_stages())
      if (wanted(o.name)) return true;
    return false;
  }

  Status add(size_t number, std::string_view name, std::string slug, UOp graph, const InputGraph& in) {
    GraphInfo info = in.info;
    info.stage = name == kAst ? "" : name;
    Format format = format_.value_or(Format::Pyrender);
    auto text = write_graph(format, graph, info);
    if (!text) return text.diag();
    pieces_.push_back({number, std::string(name), std::move(slug), std::string(extension_of(format)), std::move(*text)});
    return Unit{};
  }

  Status add_output(size_t number, const OutputStage& output, KernelOutputs& outputs, const InputGraph& in) {
    bool other_format = output.name == "linear" && format_ && *format_ != Format::Uops;
    auto text = other_format ? linear_as(*format_, outputs, in) : output.make(outputs);
    if (!text) return text.diag();
    if (!text->empty() && text->back() != '\n') *text += '\n';
    std::string extension(other_format ? extension_of(*format_) : output.extension);
    pieces_.push_back({number, std::string(output.name), std::string(output.name), extension, std::move(*text)});
    return Unit{};
  }
  static Result<std::string> linear_as(Format format, KernelOutputs& outputs, const InputGraph& in) {
    auto& list = outputs.list();
    if (!list) return list.diag();
    GraphInfo info = in.info;
    info.stage = "linear";
    return write_list(format, *list, info);
  }

  // ---- where it goes
  Status write(const InputGraph& in) {
    if (o_.output.empty()) {
      std::string out;
      for (const Piece& p : pieces_) {
        if (pieces_.size() > 1) out += "# " + in.info.name + ": " + p.stage + "\n";
        out += p.text;
      }
      print(out);
      return Unit{};
    }
    std::error_code error;
    bool many = pieces_.size() != 1 || !first_;
    if (first_) into_folder_ = many || o_.output.back() == '/' || fs::is_directory(o_.output, error);
    first_ = false;
    if (!into_folder_ && many)
      return Diag{.message = "several texts do not go into one file", .file = o_.output, .expected = "a folder (end its name with '/')"};
    if (!into_folder_) return write_file(o_.output, pieces_[0].text);
    fs::create_directories(o_.output, error);
    if (error) return Diag{.message = "cannot make the folder: " + error.message(), .file = o_.output};
    for (const Piece& p : pieces_) {
      char number[16];
      std::snprintf(number, sizeof number, "%02zu", p.number);
      std::string name = file_name(in.info.name) + "." + number + "." + p.slug + "." + p.extension;
      if (auto status = write_file((fs::path(o_.output) / name).string(), p.text); !status) return status;
    }
    return Unit{};
  }
  static std::string file_name(std::string name) {
    for (char& c : name)
      if (c == '/' || c == '\0' || c == '\n') c = '_';
    return name.empty() || name[0] == '.' ? "_" + name : name;
  }

  const DumpOptions& o_;
  std::set<std::string_view> wanted_;
  bool only_changed_ = false, first_ = true, into_folder_ = false;
  std::optional<Format> format_;
  const Stage* from_ = nullptr;
  std::vector<Piece> pieces_;
};

}  // namespace

void add_dump(CLI::App& app, int& exit_code) {
  auto o = std::make_shared<DumpOptions>();
  CLI::App* cmd = app.add_subcommand("dump", "run the pipeline, print what was asked for");
  cmd->add_option("INPUT", o->input, "a file of any kind (pyrender, repr, print_uops, JSON, golden records), FILE#ID for one record; default: standard input");
  cmd->add_option("--stage", o->stage,
                  "which stages to print: names, aliases, spans a..b, 'all', 'changed' (those that changed the graph), separated by commas; `tgc stages` "
                  "lists them. Default: ast, the input as it is")
      ->type_name("LIST");
  cmd->add_option("--format", o->format, "pyrender (default), uops, nodes, repr, json or dot")->type_name("F");
  cmd->add_option("-o,--output", o->output, "a file for one text, a folder for several: KERNEL.NN.STAGE.EXT")->type_name("DIR|FILE");
  cmd->add_option("--from", o->from, "the input is the graph after that stage: go on with the next one")->type_name("STAGE");
  cmd->add_option("--kernel", o->kernel, "one of many: its number from 0, or its name")->type_name("N|NAME");
  o->pipeline.add_to(*cmd);
  cmd->callback([o, &exit_code] { exit_code = Dumper(*o).run(); });
}

}  // namespace tgc
