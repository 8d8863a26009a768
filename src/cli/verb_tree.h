// The tree of verbs with their options, help and examples, made of CLI11, which is slow to compile. Used by
// arguments.cc alone.
#pragma once

#include <memory>
#include <string>

#include "cli/options.h"

namespace CLI {
class App;
}

namespace eider::cli {

class VerbTree {
 public:
  explicit VerbTree(const std::string& version);
  ~VerbTree();
  VerbTree(const VerbTree&) = delete;
  VerbTree& operator=(const VerbTree&) = delete;

  CLI::App& app();
  /// Where the tree puts what it finds.
  Options& options();

 private:
  class Tree;
  std::unique_ptr<Tree> tree_;
};

}  // namespace eider::cli
