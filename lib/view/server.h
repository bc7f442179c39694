// The page from a server on this computer: kernels of a model are run when they are opened. It answers GET alone, to
// who knows the token in its address, and only when the browser says that it asks 127.0.0.1 itself: no other site can
// make a browser ask for it, by name (DNS rebinding) or by script. No request names a path of the disk.
#pragma once
#include <memory>
#include <string>

#include "lib/driver/session.h"
#include "lib/view/page.h"
#include "lib/view/request.h"

namespace tgc {

class ViewServer {
 public:
  // Listens on 127.0.0.1; port 0: one that is free. Errors: the port is taken.
  static Result<std::unique_ptr<ViewServer>> start(int port, std::string_view page_code, ViewContent content);
  ~ViewServer();

  const std::string& address() const { return address_; }  // "http://127.0.0.1:8123/TOKEN/"
  // Answers until the session is cancelled.
  void serve(const Session& session);
  // What it answers to a request: a whole response.
  std::string answer(std::string_view head);

 private:
  ViewServer() = default;
  void talk(int connection);

  struct State;
  std::unique_ptr<State> s_;
  int socket_ = -1;
  std::string address_, host_, token_;
};

}  // namespace tgc
