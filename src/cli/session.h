// What every verb is given, and the verbs themselves: plain functions that return the exit code. One thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/value.hpp>

#include "api/http.h"
#include "base/clock.h"
#include "cli/backend.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/screen.h"

namespace eider::cli {

/// The process around a verb, so that a test can be it.
struct Surroundings {
  Screen& screen;
  const Clock& clock;
  std::string folder;                                        ///< the current one, absolute
  std::function<std::string(const char* name)> environment;  ///< empty: not set
};

/// The whole program but for the process: what cli::run does, testable. Never throws.
int run_in(Surroundings& surroundings, const std::vector<std::string>& arguments, const Hooks& hooks);

struct Session {
  Surroundings& around;
  const Options& options;
  const Hooks& hooks;
  std::string workspace;  ///< absolute root; empty for verbs that need none

  Stream& out() { return around.screen.out; }
  Stream& error() { return around.screen.error; }
  Instant now() const { return around.clock.now(); }
  /// Says what is wrong, and gives the exit code.
  int fail(const Error& error);
  /// A hint for people: on standard error, and only where that is a terminal.
  void note(std::string_view text);
  /// What a reader of the output must know, too: on standard error, wherever that goes.
  void say(std::string_view text);
  /// The body as it is, made safe where a terminal would obey it.
  int print_json(std::string_view body);
};

int exit_code_of(ErrorCode code);
/// The workspace's root: what is asked for, or the nearest folder upwards from `folder` with an eider.yaml.
Result<std::string> find_workspace(const std::string& asked, const std::string& folder);

/// A GET with what is not empty of `query`.
api::Request get(std::string path, const std::map<std::string, std::string>& query = {});
/// A POST with a body of JSON.
api::Request post(std::string path, const boost::json::value& body);
/// An answer's body; an Error when it is no JSON.
Result<boost::json::value> parse_answer(const std::string& body);

/// A question: asks, prints the body as JSON where --json says so, and else shows it.
using Show = std::function<int(Session&, const boost::json::value& body)>;
int ask_and_show(Session& session, const api::Request& request, Backend::Mode mode, const Show& show);
/// A question about what has happened: answered whatever the files hold, and what is wrong with them is said beside it.
int ask_history(Session& session, const api::Request& request, const Show& show);

int init(Session&);  // files.cc
int validate(Session&);
int schema(Session&);
int version(Session&);
int status(Session&);  // server.cc
int stop(Session&);
int reload(Session&);
int pools(Session&);
int serve(Session&);
int pipelines_list(Session&);  // pipelines.cc
int schedule_list(Session&);   // schedules.cc
int schedule_describe(Session&);
int schedule_preview(Session&);
int schedule_pause(Session&);
int schedule_resume(Session&);
int occurrences(Session&);
int runs_list(Session&);  // runs.cc
int runs_show(Session&);
int cancel(Session&);
int retry(Session&);
int assets_list(Session&);  // assets.cc
int assets_show(Session&);
int assets_graph(Session&);
int assets_materialize(Session&);
int materializations(Session&);
int materializations_show(Session&);
int deliveries_list(Session&);  // deliveries.cc
int deliveries_show(Session&);
int deliveries_retry(Session&);
int deliveries_skip(Session&);
int explain(Session&);       // explain.cc
int doctor(Session&);        // doctor.cc
int simulate(Session&);      // simulate.cc
int logs(Session&);          // logs.cc
int run_pipeline(Session&);  // run_verb.cc
int completion(Session&);    // completion.cc
int complete(Session&);

}  // namespace eider::cli
