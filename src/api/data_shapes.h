// The shapes of what data triggers are about, as shapes.h has the others. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <boost/json/object.hpp>

#include "engine/inbox.h"
#include "model/asset.h"
#include "workspace/catalog.h"

namespace eider::api::shapes {

boost::json::object materialization(const model::Materialization& event);
/// `waiting_for`: of a pending one, why it has no run yet; empty: not known.
boost::json::object delivery(const model::Delivery& delivery, const std::string& waiting_for);
boost::json::object trigger(const engine::TriggerView& view);
/// `declared`: by a file of the workspace; else only history knows it. `pending`: deliveries that its consumers still
/// have to take.
boost::json::object asset(const workspace::AssetEntry& entry, bool declared,
                          const std::optional<model::Materialization>& last, std::int64_t pending);
/// `{"nodes": [{id, kind, name, external}], "edges": [{from, to, kind, trigger}]}`: assets and the pipelines that
/// publish them or wait for them. An edge `publishes` leads from a pipeline to an asset, `triggers` from an asset to a
/// pipeline.
boost::json::object graph(const workspace::Catalog& catalog);

}  // namespace eider::api::shapes
