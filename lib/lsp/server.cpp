#include "lib/lsp/server.h"

#include <algorithm>
#include <filesystem>
#include <list>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/contain/temporary_folder.h"
#include "lib/lsp/answers.h"
#include "lib/lsp/job.h"
#include "lib/lsp/origin.h"
#include "lib/lsp/rule_source.h"
#include "lib/support/counted.h"
#include "lib/support/json_writer.h"
#include "lib/support/version.h"
#include "lib/support/visible.h"
#include "lib/support/write_file.h"
#include "lib/uop/release.h"

namespace tgc {

namespace {

using Json = nlohmann::json;

enum ErrorCode { kParseError = -32700, kInvalidRequest = -32600, kNoMethod = -32601, kInvalidParams = -32602,
             kNotInitialized = -32002, kRequestFailed = -32803, kCancelled = -32800 };

constexpr size_t kMostJobs = 4;
constexpr const char* kSearching = "(tgc is looking for it: ask again)";

std::string id_text(const Json& id) {
  if (id.is_number_integer()) return id.is_number_unsigned() ? std::to_string(id.get<uint64_t>())
                                                             : std::to_string(id.get<int64_t>());
  std::string out;
  if (id.is_string()) append_json_string(out, id.get_ref<const std::string&>());
  return out.empty() ? "null" : out;
}

TextPosition position_of(const Json& position) {
  return {position.at("line").get<int64_t>(), position.at("character").get<int64_t>()};
}

// Returns the folders of the editor's option `tinygrad`, the workspace (the first 20) and its root.
std::vector<std::string> source_folders(const Json& params) {
  std::vector<std::string> out;
  auto add = [&](const char* pointer, bool is_uri) {
    const Json::json_pointer at(pointer);
    if (!params.is_object() || !params.contains(at) || !params.at(at).is_string()) return;
    const std::string text = params.at(at).get<std::string>(), path = is_uri ? path_of_uri(text) : text;
    if (!path.empty()) out.push_back(path);
  };
  add("/initializationOptions/tinygrad", false);
  constexpr size_t kMost = 20;
  for (size_t i = 0; i < kMost; i++) add(("/workspaceFolders/" + std::to_string(i) + "/uri").c_str(), true);
  add("/rootUri", true);
  return out;
}

}  // namespace

struct LspServer::Impl {
  using MessageSender = std::function<void(const std::string& json)>;
  Impl(MessageSender send, std::string program) : send_(std::move(send)), tgc_path_(std::move(program)) {}

  void receive_message(std::string_view text) {
    const Json message = Json::parse(text, nullptr, false);
    if (message.is_discarded()) return send_error("null", kParseError, "the message is not JSON");
    if (!message.is_object()) return send_error("null", kInvalidRequest, "the message is not an object");
    const auto id = message.find("id"), method = message.find("method");
    if (method == message.end() && id != message.end()) return;  // an answer of the client
    const std::string id_json = id == message.end() ? "" : id_text(*id);
    if (method == message.end() || !method->is_string())
      return send_error(id_json.empty() ? "null" : id_json, kInvalidRequest, "the message has no method");
    const auto params = message.find("params");
    const Json none = Json::object();
    try {
      auto done = catch_failures([&] {
        handle_request(*method, params == message.end() ? none : *params, id_json);
        return Unit{};
      });
      if (!done && !id_json.empty()) send_error(id_json, kRequestFailed, done.diag().text());
    } catch (const Json::exception& error) {
      if (!id_json.empty()) send_error(id_json, kInvalidParams, error.what());
    }
  }

  void handle_request(const std::string& method, const Json& params, const std::string& id) {
    if (method == "exit") return void(exit_code = is_shut_down_ ? 0 : 1);
    if (id.empty()) return handle_notification(method, params);
    if (!is_initialized_ && method != "initialize")
      return send_error(id, kNotInitialized, "the first request must be 'initialize'");
    if (is_shut_down_) return send_error(id, kInvalidRequest, "the server is shut down");
    if (method == "initialize") return initialize(params, id);
    if (method == "shutdown") {
      is_shut_down_ = true;
      jobs_.clear();
      return send_result(id, [](JsonWriter& json) { json.write_null(); });
    }
    if (method == "workspace/executeCommand") return execute_command(params, id);
    using Handler = void (Impl::*)(OpenDocument&, const Json&, const std::string&, const std::string&);
    static const std::map<std::string_view, Handler> kHandlers{{"hover", &Impl::answer_hover},
                                                               {"definition", &Impl::answer_definition},
                                                               {"implementation", &Impl::answer_implementation},
                                                               {"references", &Impl::answer_references},
                                                               {"documentHighlight", &Impl::answer_highlights},
                                                               {"documentSymbol", &Impl::answer_document_symbols},
                                                               {"codeLens", &Impl::answer_code_lenses},
                                                               {"foldingRange", &Impl::answer_folding_ranges},
                                                               {"completion", &Impl::answer_completion},
                                                               {"prepareRename", &Impl::answer_prepare_rename},
                                                               {"rename", &Impl::answer_rename},
                                                               {"semanticTokens/full", &Impl::answer_semantic_tokens},
                                                               {"semanticTokens/range", &Impl::answer_semantic_tokens},
                                                               {"inlayHint", &Impl::answer_inlay_hints}};
    constexpr std::string_view kPrefix = "textDocument/";
    auto handler = kHandlers.find(method.starts_with(kPrefix) ? std::string_view(method).substr(kPrefix.size()) : "");
    if (handler == kHandlers.end())
      return send_error(id, kNoMethod, "there is no method '" + visible_text(method) + "'");
    const std::string uri = params.at("textDocument").at("uri").get<std::string>();
    (this->*handler->second)(open_document(uri), params, id, uri);
  }

  OpenDocument& open_document(const std::string& uri) {
    auto it = documents_.find(uri);
    if (it == documents_.end()) throw Failure("no open text '" + visible_text(uri) + "'");
    return it->second;
  }

  void handle_notification(const std::string& method, const Json& params) {
    if (method == "$/cancelRequest") return cancel_job(id_text(params.at("id")));
    if (!method.starts_with("textDocument/did")) return;
    const Json& document = params.at("textDocument");
    const std::string uri = document.at("uri").get<std::string>();
    if (method == "textDocument/didOpen") {
      documents_.erase(uri);
      documents_.emplace(uri,
                         OpenDocument(document.at("text").get<std::string>(), document.value("version", int64_t(0))));
    } else if (method == "textDocument/didChange") {
      OpenDocument& text = open_document(uri);
      TextDocument changed = text.document();
      for (const Json& change : params.at("contentChanges")) {
        const std::string by = change.at("text").get<std::string>();
        auto range = change.find("range");
        changed =
            TextDocument(range == change.end() || range->is_null()
                         ? by
                         : changed.text_after_edit(position_of(range->at("start")), position_of(range->at("end")), by));
      }
      text.replace_document(std::move(changed), document.value("version", int64_t(0)));
    } else if (method == "textDocument/didClose") {
      documents_.erase(uri);
      return publish_diagnostics(uri, nullptr);
    } else {
      return;
    }
    OpenDocument& text = open_document(uri);
    if (!text.has_idle_work() || !text.sections().errors.empty()) publish_diagnostics(uri, &text);
  }

  // For a closed text (null), sends an empty list, so that the editor removes its problems.
  void publish_diagnostics(const std::string& uri, OpenDocument* text) {
    send_notification("textDocument/publishDiagnostics", [&](JsonWriter& json) {
      json.member("uri", uri);
      if (text) json.member("version", text->version());
      json.key("diagnostics");
      if (text) write_diagnostics(json, *text);
      else json.array([] {});
    });
  }

  void initialize(const Json& params, const std::string& id) {
    is_initialized_ = true;
    constexpr const char* kShows = "/capabilities/window/showDocument/support";
    const Json shows = params.value(Json::json_pointer(kShows), Json(false));
    shows_documents_ = shows.is_boolean() && shows.get<bool>();
    source_folders_ = source_folders(params);
    send_result(id, [](JsonWriter& json) {
      json.object([&] {
        write_capabilities(json.key("capabilities"));
        json.key("serverInfo").object([&] { json.member("name", "tgc").member("version", tgc_version()); });
      });
    });
  }

  struct SectionPosition {
    const ReadSection* read = nullptr;  // null if the position is outside of all sections
    size_t section_index = 0, at = 0;           // `at`: byte offset in the section's text
  };
  SectionPosition section_position(OpenDocument& text, const Json& params) {
    const size_t offset = text.document().offset(position_of(params.at("position")));
    const auto index = text.section_at_offset(offset);
    if (!index) return {};
    const ReadSection& read = text.read_section(*index);
    return {&read, *index, read.text.text_offset(offset)};
  }

  void answer_hover(OpenDocument& text, const Json& params, const std::string& id, const std::string& uri) {
    const SectionPosition at = section_position(text, params);
    const UOp node = at.read ? at.read->analysis->node_at_offset(at.at) : UOp();
    if (!node) return send_result(id, [](JsonWriter& json) { json.write_null(); });
    const SectionAnalysis& analysis = *at.read->analysis;
    const PendingOrigin found = find_node_origin(text, uri, at.section_index, analysis, node);
    const std::string made_by = !found ? "" : is_ready(*found) ? found->get().text : kSearching;
    send_result(id, [&](JsonWriter& json) {
      json.object([&] {
        json.key("contents").object([&] {
          json.member("kind", "markdown").member("value", hover_text(analysis, node, made_by));
        });
      });
    });
  }

  void answer_definition(OpenDocument& text, const Json& params, const std::string& id, const std::string& uri) {
    const SectionPosition at = section_position(text, params);
    const auto target = at.read ? at.read->analysis->links.link_target_at(at.at) : std::nullopt;
    send_result(id, [&](JsonWriter& json) {
      if (!target) return void(json.write_null());
      const NodeDefinition& d = at.read->analysis->links.definitions[*target];
      write_location(json, uri, text, *at.read, d.name_begin, d.name_end);
    });
  }

  void answer_references(OpenDocument& text, const Json& params, const std::string& id, const std::string& uri) {
    const SectionPosition at = section_position(text, params);
    const auto target = at.read ? at.read->analysis->links.link_target_at(at.at) : std::nullopt;
    const auto context = params.find("context");
    const bool with_definition = context != params.end() && context->value("includeDeclaration", false);
    send_result(id, [&](JsonWriter& json) {
      json.array([&] {
        if (!target) return;
        const NodeLinks& links = at.read->analysis->links;
        const NodeDefinition& d = links.definitions[*target];
        if (with_definition) write_location(json, uri, text, *at.read, d.name_begin, d.name_end);
        for (const NodeLink& link : links.links)
          if (link.target == *target) write_location(json, uri, text, *at.read, link.begin, link.end);
      });
    });
  }

  void answer_highlights(OpenDocument& text, const Json& params, const std::string& id, const std::string&) {
    const SectionPosition at = section_position(text, params);
    send_result(id, [&](JsonWriter& json) {
      if (at.read) write_highlights(json, text, *at.read, at.at);
      else json.array([] {});
    });
  }

  void answer_document_symbols(OpenDocument& text, const Json&, const std::string& id, const std::string&) {
    send_result(id, [&](JsonWriter& json) { write_document_symbols(json, text); });
  }
  void answer_code_lenses(OpenDocument& text, const Json&, const std::string& id, const std::string& uri) {
    send_result(id, [&](JsonWriter& json) { write_code_lenses(json, text, uri); });
  }
  void answer_folding_ranges(OpenDocument& text, const Json&, const std::string& id, const std::string&) {
    send_result(id, [&](JsonWriter& json) { write_folding_ranges(json, text); });
  }

  // Without the parameter "range", returns the whole text.
  static std::pair<size_t, size_t> requested_range(const OpenDocument& text, const Json& params) {
    const auto range = params.find("range");
    if (range == params.end()) return {0, text.document().text().size()};
    const TextDocument& d = text.document();
    return {d.offset(position_of(range->at("start"))), d.offset(position_of(range->at("end")))};
  }
  void answer_semantic_tokens(OpenDocument& text, const Json& params, const std::string& id, const std::string&) {
    const auto [begin, end] = requested_range(text, params);
    send_result(id, [&](JsonWriter& json) { write_semantic_tokens(json, text, begin, end); });
  }
  void answer_inlay_hints(OpenDocument& text, const Json& params, const std::string& id, const std::string&) {
    const auto [begin, end] = requested_range(text, params);
    send_result(id, [&](JsonWriter& json) { write_inlay_hints(json, text, begin, end); });
  }

  void answer_completion(OpenDocument& text, const Json& params, const std::string& id, const std::string&) {
    const SectionPosition at = section_position(text, params);
    if (!at.read) return send_result(id, [](JsonWriter& json) { json.write_null(); });
    const CompletionList found = completions_at_offset(*at.read->analysis, at.at);
    send_result(id, [&](JsonWriter& json) { write_completions(json, text, *at.read, found); });
  }

  // Answers with null if the name cannot be renamed.
  void answer_prepare_rename(OpenDocument& text, const Json& params, const std::string& id, const std::string&) {
    const SectionPosition at = section_position(text, params);
    auto places = at.read ? name_ranges(*at.read->analysis, at.at) : Diag{"no graph is here"};
    send_result(id, [&](JsonWriter& json) {
      if (!places) return void(json.write_null());
      const auto here = *std::ranges::find_if(*places, [&](auto& p) { return at.at >= p.first && at.at <= p.second; });
      const SectionText& section = at.read->text;
      write_range(json, text.document(), section.document_offset(here.first), section.document_offset(here.second));
    });
  }

  void answer_rename(OpenDocument& text, const Json& params, const std::string& id, const std::string& uri) {
    const SectionPosition at = section_position(text, params);
    const std::string name = params.at("newName").get<std::string>();
    if (!at.read) return send_error(id, kRequestFailed, "no graph is here");
    const auto places = name_ranges(*at.read->analysis, at.at).value_or_throw();
    check_renaming(*at.read->analysis, places, name).value_or_throw();
    send_result(id, [&](JsonWriter& json) { write_rename_edits(json, uri, text, *at.read, places, name); });
  }

  using PendingOrigin = std::optional<std::shared_future<OriginAnswer>>;
  // Starts the search for the rule if necessary. Returns nullopt if that is not possible.
  PendingOrigin find_node_origin(const OpenDocument& text, const std::string& uri, size_t index,
                                 const SectionAnalysis& a, UOp node) {
    const GraphSection& s = text.sections().sections[index];
    const auto at = std::ranges::find(a.order, node);
    if (s.part != GraphSection::Part::Stage || at == a.order.end()) return std::nullopt;
    const std::string section_key = uri + " " + std::to_string(text.version()) + " " + std::to_string(index);
    const OriginQuestion question{s.name, size_t(at - a.order.begin()), a.order.size(),
                                  std::string(printed_op_name(node)), a.producer};
    return origin_finder_.find_answer(section_key, question, [&] {
      return write_input(temporary_folder(), "record-" + std::to_string(++last_number_) + ".jsonl",
                         text.input_file_text(s.record_index));
    });
  }

  // Answers once the search for the rule has ended.
  void answer_implementation(OpenDocument& text, const Json& params, const std::string& id, const std::string& uri) {
    const SectionPosition at = section_position(text, params);
    const UOp node = at.read ? at.read->analysis->node_at_offset(at.at) : UOp();
    const PendingOrigin found =
        node ? find_node_origin(text, uri, at.section_index, *at.read->analysis, node) : std::nullopt;
    if (found) pending_questions_.push_back({id, *found});
    else send_rule_sources(id, {});
    answer_pending_questions();
  }

  void answer_pending_questions() {
    std::erase_if(pending_questions_, [&](const PendingQuestion& q) {
      if (is_ready(q.answer)) send_rule_sources(q.id, q.answer.get());
      return is_ready(q.answer);
    });
  }

  void send_rule_sources(const std::string& id, const OriginAnswer& rule) {
    send_result(id, [&](JsonWriter& json) { write_rule_sources(json, rule.rule_locations, source_folders_); });
  }

  struct RunningJob {
    std::string id;
    const LspCommand* command;
    std::string page_path;
    CommandJob job;
  };

  const std::string& temporary_folder() {
    if (!temporary_folder_) temporary_folder_.emplace();
    return temporary_folder_->path();
  }

  static std::string write_input(const std::string& to, const std::string& name, const std::string& text) {
    const std::string path = to + "/" + name;
    write_file(path, text).value_or_throw();
    return path;
  }

  // The text is written to a file, so that it cannot influence the command line.
  void execute_command(const Json& params, const std::string& id) {
    const std::string name = params.at("command").get<std::string>();
    const auto command = std::ranges::find(kLspCommands, name, &LspCommand::name);
    if (command == std::end(kLspCommands))
      return send_error(id, kInvalidParams, "no command '" + visible_text(name) + "'");
    const Json& arguments = params.at("arguments");
    OpenDocument& text = open_document(arguments.at(0).get<std::string>());
    const size_t number = arguments.size() > 1 ? arguments.at(1).get<size_t>() : 0;
    if (number >= text.num_graphs())
      return send_error(id, kInvalidParams, "the text has " + count_text(text.num_graphs(), "graph"));
    if (jobs_.size() >= kMostJobs) return send_error(id, kRequestFailed, "too many commands are running");
    const std::string to = temporary_folder() + "/" + std::to_string(++last_number_);
    std::filesystem::create_directory(to);
    const auto input =
        write_input(to, text.is_recording() ? "record.jsonl" : "graph.uop", text.input_file_text(number));
    std::vector<std::string> words{tgc_path_, command->tgc_command, input, "--color=never"};
    std::string page_path;
    if (name == "tgc.view") page_path = to + "/page.html", words.insert(words.end(), {"-o", page_path});
    auto job = CommandJob::start(words, to);
    if (!job) return send_error(id, kRequestFailed, job.diag().text());
    jobs_.push_back({id, command, std::move(page_path), std::move(*job)});
  }

  void read_job_outputs() {
    origin_finder_.drain_ready_pipe();
    answer_pending_questions();
    for (auto it = jobs_.begin(); it != jobs_.end();) {
      auto code = it->job.read_output();
      if (code) finish_job(*it, *code), it = jobs_.erase(it);
      else ++it;
    }
  }

  void finish_job(const RunningJob& job, int code) {
    const bool has_page = !job.page_path.empty() && code == 0;
    const std::string output_text = visible_text(job.job.output_text()),
                      uri = has_page ? "file://" + job.page_path : "";
    const std::string title = "tgc " + std::string(job.command->tgc_command) + ": ";
    constexpr int kLog = 4;
    send_notification("window/logMessage", [&](JsonWriter& json) {
      json.member("type", kLog).member("message", title + "\n" + output_text);
    });
    send_notification("window/showMessage", [&](JsonWriter& json) {
      json.member("type", code == 0 ? 3 : code == 1 ? 2 : 1);
      json.member("message", has_page ? title + uri : title + output_text.substr(0, output_text.find('\n')));
    });
    if (has_page && shows_documents_)
      send_(json_object([&](JsonWriter& json) {
        json.member("jsonrpc", "2.0").member("id", "show-" + std::to_string(++last_number_));
        json.member("method", "window/showDocument");
        json.key("params").object([&] { json.member("uri", uri).member("external", true); });
      }));
    send_result(job.id, [&](JsonWriter& json) {
      json.object([&] {
        json.member("exitCode", code).member("text", output_text);
        if (has_page) json.member("uri", uri);
      });
    });
  }

  void cancel_job(const std::string& id) {
    auto job = std::ranges::find(jobs_, id, &RunningJob::id);
    if (job == jobs_.end()) return;
    jobs_.erase(job);
    send_error(id, kCancelled, "cancelled");
  }

  template <class Write>
  void send_result(const std::string& id, Write&& write) {
    send_(json_object([&](JsonWriter& json) {
      json.member("jsonrpc", "2.0").key("id").raw_json(id);
      write(json.key("result"));
    }));
  }
  void send_error(const std::string& id, ErrorCode code, const std::string& message) {
    send_(json_object([&](JsonWriter& json) {
      json.member("jsonrpc", "2.0").key("id").raw_json(id);
      json.key("error").object([&] { json.member("code", int(code)).member("message", message); });
    }));
  }
  template <class Write>
  void send_notification(const char* method, Write&& write) {
    send_(json_object([&](JsonWriter& json) {
      json.member("jsonrpc", "2.0").member("method", method);
      json.key("params").object([&] { write(json); });
    }));
  }

  MessageSender send_;
  const std::string tgc_path_;
  std::optional<int> exit_code;
  bool is_initialized_ = false, is_shut_down_ = false, shows_documents_ = false;
  std::map<std::string, OpenDocument> documents_;
  std::optional<TemporaryFolder> temporary_folder_;
  OriginFinder origin_finder_;  // declared after temporary_folder_, because its threads read files there
  std::list<RunningJob> jobs_;
  struct PendingQuestion {
    std::string id;
    std::shared_future<OriginAnswer> answer;
  };
  std::vector<PendingQuestion> pending_questions_;
  std::vector<std::string> source_folders_;
  size_t last_number_ = 0;
};

LspServer::LspServer(std::function<void(const std::string& json)> send, std::string program)
    : impl_(std::make_unique<Impl>(std::move(send), std::move(program))) {}
LspServer::~LspServer() = default;

void LspServer::receive_message(std::string_view message) { impl_->receive_message(message); }

bool LspServer::has_idle_work() const {
  return std::ranges::any_of(impl_->documents_, [](auto& text) { return text.second.has_idle_work(); });
}

void LspServer::do_idle_work() {
  for (auto& [uri, text] : impl_->documents_) {
    if (!text.has_idle_work()) continue;
    text.read_next_section();
    return text.has_idle_work() ? void() : impl_->publish_diagnostics(uri, &text);
  }
}

std::vector<int> LspServer::job_output_descriptors() const {
  std::vector<int> out;
  if (!impl_->pending_questions_.empty()) out.push_back(impl_->origin_finder_.ready_descriptor());
  for (auto& job : impl_->jobs_) out.push_back(job.job.output_descriptor());
  return out;
}

void LspServer::read_job_outputs() { impl_->read_job_outputs(); }

std::optional<int> LspServer::exit_code() const { return impl_->exit_code; }

}  // namespace tgc
