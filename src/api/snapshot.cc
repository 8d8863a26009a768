#include "api/snapshot.h"

#include <algorithm>

#include <boost/json.hpp>

namespace eider::api {
namespace {

constexpr int kMostOpen = 1000;

/// One gathering; each question's answer asks the next.
class Gathering : public std::enable_shared_from_this<Gathering> {
 public:
  Gathering(Context& context, std::string pipeline, Respond respond, std::function<void(const Snapshot&)> then)
      : context_(context), pipeline_(std::move(pipeline)), respond_(std::move(respond)), then_(std::move(then)) {}

  void start() { ask(engine::AskStatus{}, &Snapshot::status, respond_, &Gathering::pipelines); }

 private:
  /// Asks, keeps the answer in the snapshot, and goes on.
  template <typename Ask, typename Answer>
  void ask(Ask question, Answer Snapshot::*into, const Respond& failed, void (Gathering::*next)()) {
    context_.send(std::move(question), failed, [self = shared_from_this(), into, next](const Answer& answer) {
      (*self).snapshot_.*into = answer;
      ((*self).*next)();
    });
  }

  /// Files that cannot be used: there is still what the store says.
  void pipelines() {
    const auto failed = [self = shared_from_this()](const Response& response) {
      boost::system::error_code error;
      const boost::json::value body = boost::json::parse(response.body, error);
      const boost::json::object* fields = error ? nullptr : body.if_object();
      const boost::json::value* detail = fields ? fields->if_contains("detail") : nullptr;
      self->snapshot_.files_error =
          detail && detail->is_string() ? std::string(detail->get_string()) : "the workspace's files can't be used";
      self->open_runs();
    };
    ask(engine::AskPipelines{}, &Snapshot::pipelines, failed, &Gathering::schedules);
  }
  void schedules() { ask(engine::AskSchedules{}, &Snapshot::schedules, respond_, &Gathering::triggers); }
  void triggers() { ask(engine::AskTriggers{}, &Snapshot::triggers, respond_, &Gathering::open_runs); }

  void open_runs() {
    store::RunFilter filter;
    filter.open_only = true;
    if (!pipeline_.empty()) filter.pipeline = pipeline_;
    auto page = context_.reader().runs(filter, kMostOpen, "");
    if (!page) return respond_(error_response(page.error()));
    snapshot_.more = page->next.has_value();
    snapshot_.open = std::move(page->items);
    engine::AskLive question;
    for (const model::Run& run : snapshot_.open) question.run_ids.push_back(run.id);
    ask(std::move(question), &Snapshot::live, respond_, &Gathering::finish);
  }

  void finish() {
    if (!pipeline_.empty()) {
      const auto foreign = [&](const auto& each) { return each.pipeline != pipeline_; };
      std::erase_if(snapshot_.schedules, foreign);
      std::erase_if(snapshot_.triggers, foreign);
    }
    then_(snapshot_);
  }

  Context& context_;
  const std::string pipeline_;
  const Respond respond_;
  const std::function<void(const Snapshot&)> then_;
  Snapshot snapshot_;
};

}  // namespace

const engine::LiveRun* Snapshot::live_of(const std::string& run_id) const {
  const auto found = std::find_if(live.begin(), live.end(), [&](const auto& each) { return each.run_id == run_id; });
  return found == live.end() ? nullptr : &*found;
}

void take_snapshot(Context& context, const std::string& pipeline, const Respond& respond,
                   std::function<void(const Snapshot&)> then) {
  std::make_shared<Gathering>(context, pipeline, respond, std::move(then))->start();
}

}  // namespace eider::api
