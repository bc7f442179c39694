// A language server (LSP 3.17) for graphs of tinygrad. `tgc lsp` runs it on standard input and output.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tgc {

class LspServer {
 public:
  // `send` gets messages for the client, as JSON. `program` is the path of the tgc that runs commands.
  LspServer(std::function<void(const std::string& json)> send, std::string program);
  ~LspServer();

  // Handles a message of the client; may answer later.
  void receive_message(std::string_view message);

  // Returns true if do_idle_work() has something to do while no messages arrive.
  bool has_idle_work() const;
  void do_idle_work();

  std::vector<int> job_output_descriptors() const;  // when one is readable, call read_job_outputs()
  void read_job_outputs();  // answers requests whose results are ready
  // Returns nullopt before the client has sent `exit`.
  std::optional<int> exit_code() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Serves a client until `exit` or the end of the input, or until reading or writing fails. Returns 0 if the client said
// `shutdown` before `exit`, else 1.
int serve_lsp(int in, int out, const std::string& program);

}  // namespace tgc
