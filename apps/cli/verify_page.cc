#include "verify_page.h"

#include <cstdio>
#include <fstream>

#include "base/macros.h"
#include "base/utf8.h"
#include "common.h"
#include "formats/write_picture.h"

namespace sam3::cli {

namespace fs = std::filesystem;

namespace {

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : replace_invalid_utf8(text)) {
    if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '&')
      result += "&amp;";
    else if (c == '"')
      result += "&quot;";
    else
      result += c;
  }
  return result;
}

Status draw(const fs::path& path, const Picture& picture, const std::vector<Mask>& masks) {
  std::vector<formats::OverlayItem> items;
  for (const Mask& mask : masks) items.push_back({&mask, std::nullopt, ""});
  return formats::write_overlay(path, picture, items);
}

std::string table(const std::vector<quantize::GateResult>& gates) {
  std::string rows =
      "<table><tr><th>graph</th><th>metric</th><th>value</th><th>wanted</th><th>samples</th>"
      "<th></th></tr>\n";
  for (const quantize::GateResult& gate : gates)
    rows += "<tr><td>" + escaped(gate.graph) + "</td><td>" + gate.metric + "</td><td>" +
            four_digits(gate.value) + "</td><td>" + four_digits(1 - gate.limit) + "</td><td>" +
            gate.samples + "</td><td>" + (gate.passed() ? "passed" : "<b>failed</b>") +
            "</td></tr>\n";
  return rows + "</table>\n";
}

constexpr const char* kHead =
    "<!doctype html><meta charset=\"utf-8\"><title>Gates</title><style>"
    "body{font:15px sans-serif;margin:2em}td,th{padding:2px 12px;text-align:left}"
    "img{max-width:46vw;margin:4px}figure{margin:1em 0}</style>\n<h1>Gates</h1>\n";

}  // namespace

std::string four_digits(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4f", value);
  return text;
}

Status write_gate_page(const fs::path& folder, const std::vector<quantize::GateResult>& gates,
                       const std::vector<quantize::GateCase>& cases) {
  SAM3_RETURN_IF_ERROR(make_folder(folder));
  std::string page = kHead + table(gates);
  page += "<p>Left the reference, right the package; the worst first.</p>\n";
  int number = 0;
  for (const quantize::GateResult& gate : gates) {
    if (gate.worst.empty()) continue;
    page += "<h2>" + escaped(gate.graph) + "</h2>\n";
    for (const quantize::GateDifference& one : gate.worst) {
      const std::string name = std::to_string(++number);
      const Picture& picture = cases[one.picture].picture;
      SAM3_RETURN_IF_ERROR(draw(folder / (name + "-reference.png"), picture, one.reference));
      SAM3_RETURN_IF_ERROR(draw(folder / (name + "-package.png"), picture, one.answer));
      page += "<figure><figcaption>" + escaped(cases[one.picture].name) + ": " +
              escaped(one.question) + ", " + gate.metric + " " + four_digits(one.score) +
              "</figcaption><img src=\"" + name + "-reference.png\"><img src=\"" + name +
              "-package.png\"></figure>\n";
    }
  }
  const fs::path path = folder / "index.html";
  std::ofstream file(path, std::ios::binary);
  file << page;
  file.close();
  if (!file) return Error{ErrorCode::kRuntime, "cannot be written", path.string(), ""};
  return {};
}

}  // namespace sam3::cli
