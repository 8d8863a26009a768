#include "workspace/reload.h"

#include "base/check.h"

namespace eider::workspace {
namespace {

/// A broken file is news when its fingerprint is; a warning when it was not there before.
std::vector<Diagnostic> news_of(const Workspace& previous, const Workspace& fresh) {
  std::vector<Diagnostic> news;
  for (const Diagnostic& diagnostic : fresh.diagnostics) {
    const auto now = fresh.broken.find(diagnostic.file);
    const auto before = previous.broken.find(diagnostic.file);
    const bool known = now == fresh.broken.end() ? std::find(previous.diagnostics.begin(), previous.diagnostics.end(),
                                                             diagnostic) != previous.diagnostics.end()
                                                 : before != previous.broken.end() && before->second == now->second;
    if (!known) news.push_back(diagnostic);
  }
  return news;
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
  out.news = news_of(previous, fresh);
  if (!fresh.usable) {
    out.workspace = previous;
    out.workspace.broken = std::move(fresh.broken);
    out.workspace.diagnostics = std::move(fresh.diagnostics);
    out.kept = names_of(previous);
    return out;
  }
  out.settings_changed = !(previous.settings == fresh.settings);
  for (const auto& [name, before] : previous.pipelines) {
    const auto now = fresh.pipelines.find(name);
    if (now != fresh.pipelines.end()) {
      if (now->second.hash != before.hash) out.changed.push_back(name);
    } else if (fresh.broken.contains(before.pipeline->file)) {
      out.kept.push_back(name);
    } else {
      out.removed.push_back(name);
    }
  }
  for (const auto& [name, now] : fresh.pipelines) {
    if (!previous.pipelines.contains(name)) out.added.push_back(name);
  }
  out.workspace = std::move(fresh);
  for (const std::string& name : out.kept) out.workspace.pipelines.emplace(name, previous.pipelines.at(name));
  return out;
}

}  // namespace eider::workspace
