#include "workspace/reload.h"

#include <algorithm>
#include <set>

#include "base/check.h"
#include "base/ids.h"
#include "workspace/across.h"

namespace eider::workspace {
namespace {

const BrokenFile* broken_in(const Workspace& workspace, const std::string& file) {
  for (const auto* files : {&workspace.broken, &workspace.broken_calendars}) {
    if (const auto found = files->find(file); found != files->end()) return &found->second;
  }
  return nullptr;
}

/// A broken file is news when its fingerprint is; a warning when it was not there before.
std::vector<Diagnostic> news_of(const Workspace& previous, const Workspace& fresh) {
  std::vector<Diagnostic> news;
  for (const Diagnostic& diagnostic : fresh.diagnostics) {
    const BrokenFile* now = broken_in(fresh, diagnostic.file);
    const BrokenFile* before = broken_in(previous, diagnostic.file);
    const bool known = now == nullptr ? std::find(previous.diagnostics.begin(), previous.diagnostics.end(),
                                                  diagnostic) != previous.diagnostics.end()
                                      : before != nullptr && *before == *now;
    if (!known) news.push_back(diagnostic);
  }
  return news;
}

/// What is in force keeps the calendars that it names, also when their file is wrong now, or gone.
void keep_calendars(const Workspace& previous, Workspace& merged) {
  for (const auto& [name, loaded] : merged.pipelines) {
    for (const model::Schedule& schedule : loaded.pipeline->schedules) {
      for (const auto* names : {&schedule.exclude, &schedule.only}) {
        for (const std::string& calendar : *names) {
          const auto before = previous.calendars.find(calendar);
          if (before != previous.calendars.end()) merged.calendars.emplace(calendar, before->second);
        }
      }
    }
  }
}

/// Names of pipelines whose file is wrong, so that their last good version stays.
std::vector<std::string> kept_of(const Workspace& previous, const Workspace& fresh) {
  std::set<std::string_view> named;
  for (const auto& [file, broken] : fresh.broken) named.insert(broken.pipeline);
  std::vector<std::string> kept;
  for (const auto& [name, before] : previous.pipelines) {
    if (fresh.pipelines.contains(name)) continue;
    if (fresh.broken.contains(before.pipeline->file) || named.contains(name)) kept.push_back(name);
  }
  return kept;
}

/// Takes a pipeline out of what was loaded: it can't be beside what is kept.
void refuse(Workspace& fresh, const CrossFinding& finding) {
  const auto found = fresh.pipelines.find(finding.pipeline);
  const std::string file = found->second.pipeline->file;
  Complaints complaints(file, "");
  complaints.add(Severity::error, {}, finding.key,
                 finding.message + "; so it is with the last good version of a pipeline whose file is wrong");
  std::vector<Diagnostic> said = complaints.take();
  fresh.broken[file] = BrokenFile{finding.pipeline, content_hash(found->second.hash + format(said.front()))};
  const auto place = std::upper_bound(fresh.diagnostics.begin(), fresh.diagnostics.end(), file,
                                      [](const std::string& a, const Diagnostic& b) { return a < b.file; });
  fresh.diagnostics.insert(place, std::move(said.front()));
  fresh.pipelines.erase(found);
}

/// All pipelines are as they were, so it is a watched folder that makes the circle.
void keep_assets(const Workspace& previous, Workspace& fresh) {
  fresh.settings.assets = previous.settings.assets;
  const Diagnostic said{"eider.yaml",
                        0,
                        0,
                        Severity::error,
                        "assets",
                        "stay as they were: with these, pipelines would start themselves for ever",
                        "",
                        ""};
  fresh.broken[said.file] = BrokenFile{"", content_hash(format(said))};
  fresh.diagnostics.insert(fresh.diagnostics.begin(), said);
}

/// What was in force had no conflict (a circle of pipelines that start each other, an asset that several publish),
/// and what was loaded has none; last good versions among what was loaded may make one. Then what is new in it waits
/// too, until there is none: at the latest when all is as it was.
void settle_beside_kept(const Workspace& previous, Workspace& fresh) {
  while (true) {
    const std::vector<std::string> kept = kept_of(previous, fresh);
    if (kept.empty()) return;
    Workspace together;
    together.root = fresh.root;
    together.settings = fresh.settings;
    together.pipelines = fresh.pipelines;
    for (const std::string& name : kept) together.pipelines.emplace(name, previous.pipelines.at(name));
    bool in_conflict = false;
    bool changed = false;
    for (const CrossFinding& finding : check_across(together)) {
      if (finding.kind != CrossFinding::Kind::conflict) continue;
      in_conflict = true;
      const auto now = fresh.pipelines.find(finding.pipeline);
      if (now == fresh.pipelines.end()) continue;
      const auto before = previous.pipelines.find(finding.pipeline);
      if (before != previous.pipelines.end() && before->second.hash == now->second.hash) continue;
      refuse(fresh, finding);
      changed = true;
    }
    if (!in_conflict) return;
    if (!changed) return keep_assets(previous, fresh);
  }
}

bool same_calendars(const timing::Calendars& a, const timing::Calendars& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& one, const auto& other) {
    return one.first == other.first && *one.second == *other.second;
  });
}

std::vector<std::string> names_of(const Workspace& workspace) {
  std::vector<std::string> names;
  for (const auto& [name, loaded] : workspace.pipelines) names.push_back(name);
  return names;
}

}  // namespace

Reloaded merge(const Workspace& previous, Workspace fresh) {
  EIDER_CHECK(previous.usable, "nothing was loaded before");
  Reloaded out;
  if (fresh.usable) settle_beside_kept(previous, fresh);
  out.news = news_of(previous, fresh);
  if (!fresh.usable) {
    out.workspace = previous;
    out.workspace.broken = std::move(fresh.broken);
    out.workspace.broken_calendars = std::move(fresh.broken_calendars);
    out.workspace.diagnostics = std::move(fresh.diagnostics);
    out.kept = names_of(previous);
    return out;
  }
  out.settings_changed = !(previous.settings == fresh.settings);
  out.kept = kept_of(previous, fresh);
  for (const auto& [name, before] : previous.pipelines) {
    const auto now = fresh.pipelines.find(name);
    if (now != fresh.pipelines.end()) {
      if (now->second.hash != before.hash) out.changed.push_back(name);
    } else if (!std::binary_search(out.kept.begin(), out.kept.end(), name)) {
      out.removed.push_back(name);
    }
  }
  for (const auto& [name, now] : fresh.pipelines) {
    if (!previous.pipelines.contains(name)) out.added.push_back(name);
  }
  out.workspace = std::move(fresh);
  for (const std::string& name : out.kept) out.workspace.pipelines.emplace(name, previous.pipelines.at(name));
  keep_calendars(previous, out.workspace);
  out.calendars_changed = !same_calendars(previous.calendars, out.workspace.calendars);
  return out;
}

}  // namespace eider::workspace
