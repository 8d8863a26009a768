// The tree of verbs with their options, help and examples, made of CLI11. Used by arguments.cc alone: the library is
// slow to compile.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "cli/options.h"

namespace eider::cli {

/// Options that hold no state of their own: the tree of verbs, and where it puts what it finds.
class Tree {
 public:
  explicit Tree(const std::string& version);

  CLI::App& app() { return app_; }
  Options& options() { return options_; }

 private:
  CLI::App* verb(CLI::App* parent, const char* name, const char* about, Verb value, const char* examples);
  CLI::App* group(const char* name, const char* about, const char* examples);
  CLI::Option* target(CLI::App* verb, const char* kind, const char* about, bool required = true);
  CLI::Option* text(CLI::App* verb, const char* name, std::string& into, const char* kind, const char* about);
  void json(CLI::App* verb) { verb->add_flag("--json", options_.json, "Print JSON, in the shapes of the API"); }
  void pages(CLI::App* verb, const char* order);
  void selection(CLI::App* verb, const char* states);
  void add_files();
  void add_server();
  void add_run();
  void add_pipelines();
  void add_schedules();
  void add_runs();
  void add_assets();
  void add_deliveries();
  void add_explain();
  void add_hidden();

  Options options_;
  CLI::App app_{"Eider: a durable data-pipeline server for one machine"};
};

}  // namespace eider::cli
