#include <doctest/doctest.h>
#include <poll.h>

#include <random>

#include "lib/lsp/analysis.h"
#include "lib/lsp/open_document.h"
#include "lib/lsp/sections.h"
#include "lib/lsp/serve.h"
#include "lib/lsp/server.h"
#include "lib/records/testing.h"
#include "lib/support/json_writer.h"

using namespace tgc;

namespace {

constexpr const char* kKernel =
    "c0 = UOp(Ops.DEFINE_GLOBAL, dtypes.half.ptr(264), (), 0)\n"
    "c2 = UOp.range(8, 0, AxisType.LOOP)\n"
    "c5 = UOp.range(33, 1, AxisType.LOOP)\n"
    "c6 = c2*UOp.const(dtypes.index, 33)+c5\n"
    "c8 = UOp(Ops.DEFINE_GLOBAL, dtypes.half.ptr(264), (), 1)\n"
    "c14 = c0.index(c6, ptr=True).store(c8.index(c6)).end(c2, c5)\n"
    "ast = c14.sink()\n";

struct Session {
  std::vector<std::string> sent;
  LspServer server{[this](const std::string& json) { sent.push_back(json); }, "/bin/echo"};

  explicit Session(bool begin = true) {
    if (begin) ask(R"({"id":1,"method":"initialize","params":{}})");
  }
  std::string ask(const std::string& message) {
    const size_t before = sent.size();
    server.receive_message(message);
    while (server.has_idle_work()) server.do_idle_work();
    return sent.size() > before ? sent.back() : "";
  }
  std::string open(std::string_view text) {
    return ask(json_object([&](JsonWriter& json) {
      json.member("method", "textDocument/didOpen").key("params").object([&] {
        json.key("textDocument").object([&] { json.member("uri", "u").member("version", 1).member("text", text); });
      });
    }));
  }
  std::string at(const std::string& what, int line, int character, const std::string& more = "") {
    return ask(R"({"id":2,"method":"textDocument/)" + what +
               R"(","params":{"textDocument":{"uri":"u"},"position":{"line":)" + std::to_string(line) +
               ",\"character\":" + std::to_string(character) + "}" + more + "}}");
  }
  std::string run(const std::string& arguments) {
    std::string out = ask(R"({"id":"job","method":"workspace/executeCommand","params":)" + arguments + "}");
    while (!server.job_output_descriptors().empty()) {
      pollfd fd{server.job_output_descriptors()[0], POLLIN, 0};
      ::poll(&fd, 1, 10'000);
      server.read_job_outputs();
      out = sent.back();
    }
    return out;
  }
};

bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

std::string range(int line, int begin, int end) {
  auto place = [&](int character) {
    return "{\"line\":" + std::to_string(line) + ",\"character\":" + std::to_string(character) + "}";
  };
  return "\"range\":{\"start\":" + place(begin) + ",\"end\":" + place(end) + "}";
}

}  // namespace

TEST_CASE("lsp: messages are split at their lengths, however they arrive, and damaged headers are skipped") {
  const std::string two = frame_message("{\"a\":1}") + "content-length: 2 \r\nX: y\r\n\r\n{}";
  for (size_t step : {1, 3, 1000}) {
    MessageReader reader;
    std::vector<std::string> found;
    for (size_t at = 0; at < two.size(); at += step) {
      reader.add_bytes(std::string_view(two).substr(at, step));
      while (auto message = reader.next_message()) found.push_back(*message);
    }
    CHECK(found == std::vector<std::string>{"{\"a\":1}", "{}"});
  }
  for (const char* header : {"Content-Length: -1\r\n\r\n", "Content-Length: 99999999999999999999\r\n\r\n",
                             "X: 1\r\n\r\n",
                             "Content-Length: 1x\r\n\r\n", "\r\n\r\n"}) {
    MessageReader reader;
    reader.add_bytes(header + frame_message("{}"));
    CHECK(reader.next_message() == "");
    CHECK(reader.next_message() == "{}");
  }
  MessageReader endless;
  endless.add_bytes(std::string(1 << 16, 'x'));
  CHECK(endless.next_message() == "");
}

TEST_CASE("lsp: positions count UTF-16 code units") {
  const TextDocument d("a\u00e9\U0001F600z\r\nb\n");
  CHECK(d.position(7) == TextPosition{0, 4});  // the emoji has two units and four bytes
  CHECK(d.offset({0, 4}) == 7);
  CHECK(d.offset({0, 99}) == 8);  // before the line end
  CHECK(d.offset({1, 1}) == 11);
  CHECK(d.offset({9, 0}) == 12);
  CHECK(d.offset({-1, -1}) == 0);
  CHECK(d.text_after_edit({0, 1}, {0, 4}, "-") == "a-z\r\nb\n");
  for (size_t at : {0, 1, 3, 7, 8, 10, 12}) CHECK(d.offset(d.position(at)) == at);
}

TEST_CASE("lsp: texts of records are decoded, and places go back into the JSON") {
  const std::string line = "{\"format\":\"tgc-golden\",\"version\":1,\"level\":\"kernel\"}\n"
                           "{\"id\":\"k\",\"target\":\"CPU\","
                           "\"ast\":\"a = 1\\nb\\u00e9\\ud83d\\ude00c = \\\"x\\\"\"}\n";
  const DocumentSections s = find_sections(line);
  REQUIRE(s.sections.size() == 1);
  CHECK(s.records[0].id == "k");
  const SectionText text(line, s.sections[0]);
  CHECK(text.text() == "a = 1\nb\u00e9\U0001F600c = \"x\"");
  for (std::string_view part : {"a", "b", "c", "x"}) {
    const size_t at = text.text().find(part);
    CHECK(line.substr(text.document_offset(at), 1) == part);
    CHECK(text.text_offset(text.document_offset(at)) == at);
  }
}

TEST_CASE("lsp: names of each format lead to their definitions") {
  auto target = [](InputKind kind, std::string_view text, std::string_view use) {
    const NodeLinks links = find_links(kind, text);
    const size_t at = text.rfind(use);
    auto found = links.link_target_at(at + 1);
    return found ? links.definitions[*found].name + "@" + std::to_string(links.definitions[*found].name_begin) : "none";
  };
  CHECK(target(InputKind::Pyrender, "c1 = 2\nc2 = c1+'c1'\n", "c1+") == "c1@0");
  CHECK(target(InputKind::Pyrender, "c1 = 2\n# c1: 3\nc2 = x.c1\n", "c1") == "none");
  CHECK(target(InputKind::Pyrender, "def k0():\n  c1 = 2\n  return c1\nc1 = k0()\nast = c1\n", "c1") == "c1@31");
  CHECK(target(InputKind::Pyrender, "def k0():\n  c1 = 2\n  return c1\nc1 = 4\nast = k0()\n", "k0") == "k0@4");
  CHECK(target(InputKind::Pyrender, "def k0():\n  def k0():\n    return c1\n  c1 = k0()\n  return c1\n"
                                    "c1 = k0()\n", "k0") == "k0@4");
  CHECK(target(InputKind::Uops, "  0 Ops.CONST : dtypes.int [] 1\n  1 Ops.NEG : \x1b[9m dtypes.int [0, '1'] None\n",
               "0, ") == "0@2");
  CHECK(target(InputKind::Json, R"({"nodes":[{"op":"CONST"},
{ "op":"NEG","src":[0]}]})", "0]") == "0@17");
  CHECK(target(InputKind::Repr, "UOp(Ops.ADD, dtypes.int, src=(\n  x1:=UOp(Ops.CONST),\n  x1,))", "x1,") == "x1@33");
}

TEST_CASE("lsp: problems have the range of the statement or word") {
  Session s;
  CHECK(has(s.open(kKernel), "\"diagnostics\":[]"));
  std::string wrong = kKernel;
  wrong.replace(wrong.find("dtypes.index, 33"), 16, "dtypes.half, 33");
  std::string said = s.open(wrong);
  CHECK(has(said, range(3, 0, 37)));
  CHECK(has(said, "rejected by rule alu"));
  wrong = kKernel;
  wrong.replace(wrong.find("c8.index"), 8, "c99.index");
  said = s.open(wrong);
  CHECK(has(said, range(5, 35, 38)));
  CHECK(has(said, "unknown name 'c99'"));
}

TEST_CASE("lsp: hover, definition and references of a node") {
  Session s;
  s.open(kKernel);
  const std::string hover = s.at("hover", 5, 15);
  CHECK(has(hover, "**Ops.ADD** `dtypes.index`"));
  CHECK(has(hover, "values: `0` to `263`"));
  CHECK(has(hover, "`c2: (0, AxisType.LOOP) of 8`"));
  CHECK(has(s.at("definition", 5, 15), range(3, 0, 2)));
  const std::string uses = s.at("references", 3, 1);
  CHECK(has(uses, range(5, 15, 17)));
  CHECK_FALSE(has(uses, range(3, 0, 2)));
  CHECK(has(s.at("hover", 99, 0), "\"result\":"));
}

TEST_CASE("lsp: rename, highlights, folds, tokens and hints count UTF-16 code units, and recordings have no colors") {
  Session s;
  s.open("# \U0001F600\nc1 = UOp.const(dtypes.int, 1)\nast = c1.sink() # \U0001F600 c1\n");
  const std::string edits = s.at("rename", 1, 0, R"(,"newName":"one")");
  CHECK(has(edits, "{\"changes\":{\"u\":[{" + range(1, 0, 2)));
  CHECK(has(edits, range(2, 6, 8)));
  CHECK(has(s.at("rename", 1, 0, R"(,"newName":"ast")"), "\"error\""));
  CHECK(has(s.at("prepareRename", 2, 7), "\"result\":{\"start\":{\"line\":2,\"character\":6}"));
  CHECK(has(s.at("documentHighlight", 1, 1), range(2, 6, 8) + ",\"kind\":2"));
  CHECK(has(s.at("semanticTokens/full", 0, 0), "{\"data\":[0,0,4,0,0,1,0,2,"));
  s.open("{\"format\":\"tgc-golden\",\"version\":1,\"level\":\"kernel\"}\n"
         "{\"id\":\"k\",\"target\":\"CPU\",\"ast\":\"c1 = UOp.const(dtypes.int, 1)\"}\n");
  CHECK(has(s.at("semanticTokens/full", 0, 0), "\"data\":[]"));
  CHECK(has(s.at("implementation", 1, 35), "\"result\":[]"));
}

TEST_CASE("lsp: a listing has no notes about what no listing can say") {
  Session s;
  auto row = [](const std::string& begin, const std::string& src, const std::string& arg) {
    return begin + "           :            dtypes.int" + std::string(31, ' ') + src +
           std::string(33 - src.size(), ' ') + arg + "\n";
  };
  CHECK(has(s.open(row("   0 Ops.CONST", "[]", "1") + row("   1 Ops.NEG  ", "['1']", "None")),
            "\"diagnostics\":[]"));
}

TEST_CASE("lsp: commands run only by name on open texts, in a folder of their own") {
  Session s;
  s.open(kKernel);
  // LspServer starts /bin/echo as the program
  const std::string ran = s.run(R"({"command":"tgc.run","arguments":["u",0]})");
  CHECK(has(ran, "\"exitCode\":0"));
  CHECK(has(ran, "run /"));
  CHECK(has(ran, "graph.uop --color=never"));
  for (const char* arguments :
       {R"({"command":"tgc.rm","arguments":["u",0]})", R"({"command":"tgc.run","arguments":["v",0]})",
        R"({"command":"tgc.run","arguments":["u",7]})", R"({"command":"tgc.run","arguments":["u",-1]})",
        R"({"command":"tgc.run"})", R"({"command":"tgc.run","arguments":[{}]})", "[]", "null"})
    CHECK(has(s.run(arguments), "\"error\":"));
}

TEST_CASE("lsp: requests before initialize, and after shutdown, are errors") {
  Session s(false);
  CHECK(has(s.ask(R"({"id":7,"method":"textDocument/hover","params":{}})"), "-32002"));
  s.ask(R"({"id":1,"method":"initialize","params":{}})");
  CHECK(has(s.ask(R"({"id":"x","method":"no/such","params":{}})"), R"("id":"x","error":{"code":-32601)"));
  CHECK(has(s.ask(R"({"id":2,"method":"shutdown"})"), "\"result\":null"));
  CHECK(has(s.ask(R"({"id":3,"method":"textDocument/hover","params":{}})"), "-32600"));
  s.ask(R"({"method":"exit"})");
  CHECK(s.server.exit_code() == 0);
}

TEST_CASE("lsp: no damaged message and no damaged text stops the server") {
  auto reader = GoldenReader::open(test_path("golden/kernels.jsonl.gz"));
  REQUIRE(reader.ok());
  std::string recording =
      "{\"format\":\"tgc-golden\",\"version\":1,\"level\":\"kernel\",\"producer\":\"tinygrad 0.12.0\"}\n";
  for (GoldenLine line; recording.size() < 20'000 && *reader->next_line(line);) recording += line.text + "\n";
  std::mt19937 random(1);
  Session s;
  auto pick = [&](size_t n) { return size_t(random() % n); };
  auto damage = [&](std::string text) {
    constexpr std::string_view kBytes = "{}[]\":,0-9c.()'\\\n #=\x80\xff";
    for (size_t n = 1 + pick(4); n-- && !text.empty();) {
      const size_t at = pick(text.size());
      switch (pick(4)) {
        case 0: text[at] = kBytes[pick(kBytes.size())]; break;
        case 1: text.erase(at, 1 + pick(20)); break;
        case 2: text.insert(at, text.substr(pick(text.size()), pick(40))); break;
        default: text.insert(at, 1, kBytes[pick(kBytes.size())]);
      }
    }
    return text;
  };
  const std::vector<std::string> messages{
      R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{"window":{"showDocument":{"support":true}}}}})",
      R"({"id":2,"method":"textDocument/hover","params":{"textDocument":{"uri":"u"},"position":{"line":3,"character":1}}})",
      R"({"id":3,"method":"textDocument/references","params":{"textDocument":{"uri":"u"},"position":{"line":1,"character":1},"context":{"includeDeclaration":true}}})",
      R"({"id":4,"method":"textDocument/documentSymbol","params":{"textDocument":{"uri":"u"}}})",
      R"({"method":"textDocument/didChange","params":{"textDocument":{"uri":"u","version":2},"contentChanges":[{"range":{"start":{"line":1,"character":0},"end":{"line":2,"character":3}},"text":"c2 = "}]}})",
      R"x({"method":"textDocument/didOpen","params":{"textDocument":{"uri":"u","version":2,"text":"c0 = UOp.const(dtypes.int, 1)"}}})x",
      R"({"method":"$/cancelRequest","params":{"id":4}})",
      R"({"method":"textDocument/didClose","params":{"textDocument":{"uri":"u"}}})"};
  for (int i = 0; i < 3000; i++) s.ask(damage(messages[pick(messages.size())]));
  for (const std::string& deep : {std::string(100'000, '['), std::string(100'000, '{'), std::string("{\"id\":") +
                                  std::string(100'000, '[') + std::string(100'000, ']') + "}"})
    s.ask(deep);
  for (int i = 0; i < 300; i++) {
    s.open(damage(i % 10 ? std::string(kKernel) : recording));
    for (const char* what : {"hover", "definition", "references", "documentSymbol", "codeLens", "documentHighlight",
                             "foldingRange", "completion", "prepareRename", "semanticTokens/full", "inlayHint"})
      s.at(what, int(pick(8)), int(pick(i % 10 ? 60 : 9000)));
    s.at("rename", int(pick(8)), int(pick(60)), R"(,"newName":"c2")");
  }
  std::string many;  // repeats an unclosed part; reading it must take linear time
  for (const char* part : {"{\"op\":\"", "{\"op\":\"A\",", "\"src\":[", "\"uop\":1", "1 Ops.A \n", "x:=UOp(",
                           "c1 = \"", "def k()"}) {
    many.clear();
    while (many.size() < 100'000) many += part;
    for (const char* begin : {"{\"format\":\"tgc-graph\"", "0 Ops.CONST : ", "UOp(", ""}) s.open(begin + many);
  }
  s.open(kKernel);
  CHECK(has(s.at("hover", 3, 1), "Ops.ADD"));
}
