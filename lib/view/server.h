// Serves the page on 127.0.0.1 and compiles kernels of a model when the user opens them. The server answers only GET
// requests whose path has the random token of the server's address and whose Host and Origin are 127.0.0.1, so that
// other web sites cannot use the server by DNS rebinding or by scripts. Requests cannot name files.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "lib/driver/session.h"
#include "lib/support/result.h"
#include "lib/view/page.h"

namespace tgc {

// Parses the head of an untrusted HTTP request to the server of `tgc view`.
struct Request {
  std::string path;    // the path as sent, up to a '?'
  std::string host;    // the Host header
  std::string origin;  // the Origin header; empty: none
};

constexpr size_t kMostOfRequest = 16 << 10;  // maximum bytes of a head

// Returns true if `head` is complete, that is, ends with an empty line.
bool is_whole_request(std::string_view head);

// Parses the head of a request. An error's message is the end of an HTTP status line ("405 Method Not Allowed").
// Errors: a method other than GET, a malformed head, a version other than HTTP/1.0 or 1.1, not one Host header, a body.
Result<Request> parse_request(std::string_view head);

class ViewServer {
 public:
  // Listens on 127.0.0.1; port 0 means a free port. Error: the port is in use.
  static Result<std::unique_ptr<ViewServer>> start(int port, std::string_view page_code, ViewContent content);
  ~ViewServer();

  const std::string& address() const { return address_; }  // "http://127.0.0.1:8123/TOKEN/"
  // Writes a page that forwards to the address, and returns its path. Other users can read the arguments of a browser,
  // but not this file, so they do not learn the token. The destructor removes the file.
  Result<std::string> redirect_file();
  // Answers requests until the session is cancelled.
  void serve(const Session& session);
  // Returns the whole response to a request.
  std::string answer(std::string_view head);

 private:
  ViewServer() = default;
  void talk(int connection);

  struct State;
  std::unique_ptr<State> s_;
  int socket_ = -1;
  std::string address_, host_, token_, redirect_;
};

}  // namespace tgc
