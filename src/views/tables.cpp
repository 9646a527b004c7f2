// Plain-text tables: what every command prints. ASCII only, so that they survive any terminal.

#include <fmt/format.h>

#include <algorithm>

#include "ringside/views.h"
#include "views/text.h"

namespace ringside {
namespace {

bool is_number(std::string_view cell) {
  return !cell.empty() && cell.front() >= '0' && cell.front() <= '9';
}

// A column of numbers, whatever their units, lines up at its right edge.
bool is_numeric_column(const std::vector<std::vector<std::string>>& rows, std::size_t column) {
  bool any = false;
  for (const auto& row : rows) {
    if (column >= row.size() || row[column].empty() || row[column] == "-") continue;
    if (!is_number(row[column])) return false;
    any = true;
  }
  return any;
}

std::string device_names(int first, int last) {
  return first == last ? fmt::format("device {}", first)
                       : fmt::format("devices {}-{}", first, last);
}

bool same_account(const MemoryAccount& a, const MemoryAccount& b) {
  return a.peak == b.peak && a.capacity == b.capacity && a.at_peak == b.at_peak;
}

}  // namespace

std::string format_table(const std::vector<std::string>& header,
                         const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  std::vector<bool> numeric;
  for (std::size_t column = 0; column < header.size(); ++column) {
    std::size_t width = display_width(header[column]);
    for (const auto& row : rows) {
      if (column < row.size()) width = std::max(width, display_width(row[column]));
    }
    widths.push_back(width);
    numeric.push_back(is_numeric_column(rows, column));
  }

  std::string table;
  const auto add_line = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (std::size_t column = 0; column < header.size(); ++column) {
      const std::string cell = column < cells.size() ? clean_text(cells[column]) : std::string();
      const std::string space(widths[column] - display_width(cell), ' ');
      if (column > 0) line += "  ";
      line += numeric[column] ? space + cell : cell + space;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    table += line + '\n';
  };
  add_line(header);
  std::vector<std::string> rule;
  for (const std::size_t width : widths) rule.emplace_back(width, '-');
  add_line(rule);
  for (const auto& row : rows) add_line(row);
  return table;
}

std::string format_transfers(const std::vector<TransferRow>& rows) {
  std::vector<std::vector<std::string>> cells;
  std::size_t messages = 0;
  std::size_t bytes = 0;
  for (const TransferRow& row : rows) {
    cells.push_back({std::string(to_string(row.phase)), row.primitive, row.from, row.to,
                     std::to_string(row.messages), format_bytes(row.bytes)});
    messages += row.messages;
    bytes += row.bytes;
  }
  cells.push_back({"total", "", "", "", std::to_string(messages), format_bytes(bytes)});
  return format_table({"phase", "primitive", "from", "to", "messages", "bytes"}, cells);
}

std::string format_memory(const std::vector<MemoryAccount>& accounts) {
  // Devices next to each other whose accounts are alike share a column: sixteen ranks of one job
  // then fit a terminal.
  std::vector<std::string> header = {"memory at peak"};
  std::vector<const MemoryAccount*> columns;
  for (std::size_t first = 0; first < accounts.size();) {
    std::size_t last = first;
    while (last + 1 < accounts.size() && same_account(accounts[first], accounts[last + 1])) ++last;
    header.push_back(device_names(static_cast<int>(first), static_cast<int>(last)));
    columns.push_back(&accounts[first]);
    first = last + 1;
  }

  std::vector<std::vector<std::string>> rows;
  const auto add_row = [&](std::string name, const auto& value, const char* none) {
    std::vector<std::string> row = {std::move(name)};
    bool any = false;
    for (const MemoryAccount* account : columns) {
      const std::size_t bytes = value(*account);
      any = any || bytes > 0;
      row.push_back(bytes > 0 ? format_bytes(bytes) : none);
    }
    if (any) rows.push_back(std::move(row));
  };
  for (std::size_t kind = 0; kind < kMemoryKinds; ++kind) {
    add_row(
        std::string(to_string(static_cast<MemoryKind>(kind))),
        [kind](const MemoryAccount& account) { return account.at_peak[kind]; }, "-");
  }
  add_row(
      "peak", [](const MemoryAccount& account) { return account.peak; }, "-");
  add_row(
      "capacity", [](const MemoryAccount& account) { return account.capacity; }, "-");
  return format_table(header, rows);
}

}  // namespace ringside
