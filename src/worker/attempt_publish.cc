// What an attempt publishes and when: as nodes of its DAG, beside its steps.
#include <filesystem>

#include "wire/layout.h"
#include "worker/attempt.h"

namespace eider::worker {
namespace {

/// Of a whole run: each is a row for ever.
constexpr std::size_t kSaidLimit = 10'000;

/// No step of a pipeline can have this name.
std::string node_id(const std::string& after) {
  return after.empty() ? "(publishes)" : fmt::format("(publishes after {})", after);
}

bool needs_work(const model::Publish& publish) {
  return !publish.after.empty() || !publish.path.empty() || !publish.table.empty();
}

}  // namespace

/// Where nothing has to be looked at or put in place, the result alone says what was published.
void Attempt::add_publish_nodes() {
  std::vector<std::string> all;
  for (const model::Step& step : pipeline_.steps) all.push_back(step.id);
  bool at_end = false;
  std::set<std::string> seen;
  for (const model::Publish& publish : pipeline_.publishes) {
    if (!needs_work(publish)) continue;
    if (publish.after.empty()) {
      at_end = true;
      continue;
    }
    // With a step that is kept, what is published after it has been (decide/failure.h).
    if (is_kept(publish.after) || !seen.insert(publish.after).second) continue;
    const std::string id = node_id(publish.after);
    for (model::Step& step : pipeline_.steps) {
      if (std::find(step.needs.begin(), step.needs.end(), publish.after) != step.needs.end()) step.needs.push_back(id);
    }
    add_publish_node(publish.after, {publish.after});
    all.push_back(id);
  }
  if (at_end) add_publish_node("", std::move(all));
}

void Attempt::add_publish_node(const std::string& after, std::vector<std::string> needs) {
  model::Step& step = publish_steps_.emplace_back();
  step.id = node_id(after);
  step.kind = model::Step::Kind::sql;
  step.needs = std::move(needs);
  Node node;
  node.step = &step;
  node.publishes = true;
  node.after = after;
  nodes_.push_back(std::move(node));
}

bool Attempt::is_publishing() const {
  return std::any_of(nodes_.begin(), nodes_.end(),
                     [](const Node& node) { return node.publishes && node.run && !node.result; });
}

SqlStep::Script Attempt::publish_script(Node& node) {
  const auto partition = run_.facts.find("partition");
  node.work = std::make_unique<PublishWork>(
      PublishWork::Task{pipeline_, *publishing_, node.after, partition == run_.facts.end() ? "" : partition->second,
                        said_, wire::Layout::attempt_published(job_.folder, job_.attempt),
                        wire::Layout{services_.workspace}.runs_folder(), published_});
  SqlStep::Script script;
  script.work = [work = node.work.get()](SqlThread& thread) { return work->go(thread); };
  const auto is_table = [&](const model::Publish& publish) {
    return publish.after == node.after && !publish.table.empty();
  };
  if (pipeline_.database && std::any_of(pipeline_.publishes.begin(), pipeline_.publishes.end(), is_table)) {
    // Other steps may have it open for writing, and one instance can't have it open both ways. To look is no reason to
    // make the file.
    const std::string& file = pipeline_.database->file;
    std::error_code error;
    const bool others =
        !node.after.empty() && std::filesystem::exists(services_.workspace / std::filesystem::path(file), error);
    script.database = duck::DatabaseFile{file, !others};
  }
  return script;
}

/// An asset that is published after a step can only be spoken of until then, whatever runs side by side with it.
Result<void> Attempt::take_said(const Node& node, std::vector<Said> said) {
  for (Said& line : said) {
    const model::Publish* publish = nullptr;
    std::string names;
    for (const model::Publish& one : pipeline_.publishes) {
      if (one.asset == line.asset) publish = &one;
      names += (names.empty() ? "" : ", ") + one.asset;
    }
    if (publish == nullptr) {
      return bad_line(line.line,
                      fmt::format("is about the asset \"{}\", which the pipeline does not publish", line.asset),
                      names.empty() ? "declare it under `publishes`" : "it publishes " + names);
    }
    if (!publish->after.empty() && publish->after != node.step->id) {
      const auto before = all_needs_of(*node_of(publish->after));
      if (std::find(before.begin(), before.end(), &node) == before.end()) {
        return bad_line(line.line,
                        fmt::format("is about {}, which is published after step {}", line.asset, publish->after),
                        "only that step and those that it needs can say something of it");
      }
    }
    if (said_.size() >= kSaidLimit) {
      return bad_line(line.line, "is one too many about assets",
                      fmt::format("one run can say {} things of what it publishes", kSaidLimit));
    }
    said_.push_back(std::move(line));
  }
  return {};
}

/// What is on record as published is told, also where the run was stopped meanwhile, or more could not be done.
void Attempt::take_published(const Node& node) {
  if (node.after.empty() || !node.work) return;
  published_ = node.work->record();
  for (const wire::Publication& one : node.work->publications()) {
    services_.reports.send(wire::Published{job_.run_id, job_.attempt, one});
  }
}

/// All steps have succeeded.
void Attempt::take_publications(wire::AttemptResult& result) const {
  result.publications = published_.publications;
  const auto add = [&](const std::vector<wire::Publication>& more) {
    result.publications.insert(result.publications.end(), more.begin(), more.end());
  };
  const auto at_end =
      std::find_if(nodes_.begin(), nodes_.end(), [](const Node& node) { return node.publishes && node.after.empty(); });
  if (at_end != nodes_.end()) {
    result.renames = at_end->work->renames();
    return add(at_end->work->publications());
  }
  const auto partition = run_.facts.find("partition");
  for (const model::Publish& publish : pipeline_.publishes) {
    if (!publish.after.empty()) continue;
    add(publications_of(publish, {}, said_, partition == run_.facts.end() ? "" : partition->second));
  }
}

}  // namespace eider::worker
