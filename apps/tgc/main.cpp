#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>

#include "lib/text/pyrender.h"

int main(int argc, char** argv) {
  std::stringstream s;
  s << std::ifstream(argv[1]).rdbuf();
  std::string text = s.str();
  tgc::Graph g;
  auto r = tgc::read_pyrender(g, text, argv[1]);
  if (!r) {
    std::cerr << r.diag().text() << "\n";
    return 2;
  }
  (void)argc;
  auto out = tgc::pyrender(argc > 2 ? r->simplify() : *r);
  std::cout << *out << "\n";
}
