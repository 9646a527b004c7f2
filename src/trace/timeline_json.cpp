// The JSON form of a timeline (docs/trace.md).
#include <array>
#include <limits>
#include <string>
#include <utility>

#include "core/files.h"
#include "core/names.h"
#include "ringside/timeline.h"
#include "trace/json_reader.h"
#include "trace/json_writer.h"

namespace ringside {
namespace {

constexpr NameTable<TimelineSource, 2> kSourceNames{
    {{TimelineSource::kMeasured, "measured"}, {TimelineSource::kReplayed, "replayed"}}};
constexpr std::array kAllSources = {TimelineSource::kMeasured, TimelineSource::kReplayed};

TimelineEntry read_entry(const JsonValue& json, OpId previous) {
  json.allow_only({"op", "start", "end", "ready", "uncertainty"});
  TimelineEntry entry;
  entry.op = json.at("op").integer(0, std::numeric_limits<OpId>::max());
  if (entry.op <= previous) {
    json.at("op").fault(fmt::format("{} after {}: must be ascending", entry.op, previous));
  }
  entry.start = json.at("start").finite_number();
  entry.end = json.at("end").finite_number();
  if (entry.end < entry.start) {
    json.at("end").fault(fmt::format("{} is before start, {}", entry.end, entry.start));
  }
  entry.ready = json.at("ready").finite_number();
  if (entry.ready > entry.start) {
    json.at("ready").fault(fmt::format("{} is after start, {}", entry.ready, entry.start));
  }
  if (const auto uncertainty = json.find("uncertainty")) {
    entry.uncertainty = uncertainty->finite_number();
    if (entry.uncertainty < 0) {
      uncertainty->fault(fmt::format("{} is negative", entry.uncertainty));
    }
  }
  return entry;
}

}  // namespace

std::string_view to_string(TimelineSource source) { return name_of(kSourceNames, source); }

std::string timeline_to_json(const Timeline& timeline) {
  JsonWriter json;
  json.begin_object();
  json.new_line();
  json.field("ringside", "timeline");
  json.new_line();
  json.field("version", kTimelineVersion);
  json.new_line();
  json.field("source", to_string(timeline.source));
  json.new_line();
  json.field("machine", timeline.machine);
  json.new_line();
  json.key("entries");
  json.begin_array();
  for (const TimelineEntry& entry : timeline.entries) {
    json.new_line();
    json.begin_object();
    json.field("op", entry.op);
    json.field("start", entry.start);
    json.field("end", entry.end);
    json.field("ready", entry.ready);
    if (entry.uncertainty != 0) json.field("uncertainty", entry.uncertainty);
    json.end_object();
  }
  json.new_line();
  json.end_array();
  json.new_line();
  json.end_object();
  return json.take() + "\n";
}

void write_timeline(const Timeline& timeline, const std::string& path) {
  write_whole_file(path, timeline_to_json(timeline));
}

Timeline timeline_from_json(std::string_view json, std::string_view source_name) {
  const JsonDocument document(json, source_name);
  document.check_header("timeline", kTimelineVersion);
  const JsonValue root = document.root();
  root.allow_only({"ringside", "version", "source", "machine", "entries"});
  Timeline timeline;
  timeline.source = root.at("source").one_of(kAllSources);
  timeline.machine = root.at("machine").text();
  const JsonValue entries = root.at("entries");
  const std::size_t length = entries.length();
  for (std::size_t i = 0; i < length; ++i) {
    const OpId previous = i == 0 ? kNoOp : timeline.entries.back().op;
    timeline.entries.push_back(read_entry(entries[i], previous));
  }
  return timeline;
}

Timeline read_timeline(const std::string& path) {
  return timeline_from_json(read_whole_file(path), path);
}

}  // namespace ringside
