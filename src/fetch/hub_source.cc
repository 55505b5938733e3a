// Repositories of a hub with the interface of huggingface.co.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/macros.h"
#include "fetch/source.h"

namespace sam3::fetch {
namespace {

using nlohmann::json;

constexpr int kMostPages = 100;

bool is_name_part(std::string_view part) {
  constexpr std::size_t kLongest = 96;
  if (part.empty() || part.size() > kLongest || part.front() == '.' || part.front() == '-')
    return false;
  return std::all_of(part.begin(), part.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_';
  });
}

// The address of a header `<ADDRESS>; rel="next"`; empty without one.
std::string next_page(const std::string& link) {
  const std::size_t mark = link.find("rel=\"next\"");
  if (mark == std::string::npos) return "";
  const std::size_t open = link.rfind('<', mark);
  const std::size_t close = link.find('>', open);
  if (open == std::string::npos || close == std::string::npos || close > mark) return "";
  return link.substr(open + 1, close - open - 1);
}

std::string text_of(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

class HubSource : public Source {
 public:
  HubSource(HttpClient client, SourceOptions options, Url endpoint, std::string name)
      : client_(std::move(client)),
        options_(std::move(options)),
        endpoint_(std::move(endpoint)),
        name_(std::move(name)),
        revision_(options_.revision) {}

  Result<Listing> list() override {
    Listing listing;
    listing.licence_page = page();
    SAM3_RETURN_IF_ERROR(read_info(listing));
    const std::string revision = percent_encoded(revision_);
    SAM3_ASSIGN_OR_RETURN(Url url, parse_url(base() + "/api/models/" + name_ + "/tree/" + revision +
                                             "?recursive=true"));
    for (int pages = 0; pages < kMostPages; ++pages) {
      HttpResponse response;
      const auto text = get_text(client_, url, options_.retry, kMostTextBytes, &response);
      if (!text.ok()) return explained(text.error());
      Result<std::vector<ListedFile>> files = parse_hub_tree(*text);
      if (!files.ok()) return Error{files.error().code, files.error().message, url.shown(), ""};
      std::move(files->begin(), files->end(), std::back_inserter(listing.files));
      const std::string next = next_page(response.link);
      if (next.empty()) return listing;
      SAM3_ASSIGN_OR_RETURN(Url target, redirect_target(url, next));
      if (!same_origin(url, target)) break;
      url = std::move(target);
    }
    return Error{ErrorCode::kBadData, "the hub's list of files does not end", url.shown(), ""};
  }

  Result<std::string> text(const ListedFile& file) override {
    SAM3_ASSIGN_OR_RETURN(const Url url, address_of(file));
    const auto text = get_text(client_, url, options_.retry, kMostTextBytes);
    if (!text.ok()) return explained(text.error());
    return *text;
  }

  Status get(const ListedFile& file, const std::filesystem::path& target,
             const ByteCounter& counter) override {
    SAM3_ASSIGN_OR_RETURN(const Url url, address_of(file));
    const Status got = get_file(client_, {url, file, target, counter}, options_.retry);
    return got.ok() ? got : explained(got.error());
  }

 private:
  std::string base() const {
    std::string text = endpoint_.text;
    while (text.ends_with('/')) text.pop_back();
    return text;
  }
  std::string page() const { return base() + "/" + name_; }

  Result<Url> address_of(const ListedFile& file) const {
    return parse_url(page() + "/resolve/" + percent_encoded(revision_) + "/" +
                     percent_encoded(file.path, "/"));
  }

  // Licence and commit. Without them it goes on: not every hub that holds files has them.
  Status read_info(Listing& listing) {
    SAM3_ASSIGN_OR_RETURN(const Url url, parse_url(base() + "/api/models/" + name_ + "/revision/" +
                                                   percent_encoded(revision_)));
    RetryOptions once;
    once.retries = 0;
    const auto text = get_text(client_, url, once, kMostTextBytes);
    if (!text.ok()) {
      const long status = client_.last().status;
      if (status == 401 || status == 403) return explained(text.error());
      return status == 0 && text.error().code == ErrorCode::kRuntime ? text.error() : Status();
    }
    const json info = json::parse(*text, nullptr, false);
    if (!info.is_object()) return {};
    // Later answers are then of one commit, whatever is pushed meanwhile.
    const std::string commit = text_of(info, "sha");
    if (commit.size() == 40 && commit.find_first_not_of("0123456789abcdef") == std::string::npos)
      revision_ = commit;
    const auto card = info.find("cardData");
    if (card == info.end() || !card->is_object()) return {};
    listing.licence = text_of(*card, "license");
    if (listing.licence == "other" && !text_of(*card, "license_name").empty())
      listing.licence = text_of(*card, "license_name");
    if (const auto link = parse_url(text_of(*card, "license_link")); link.ok())
      listing.licence_page = link->text;
    return {};
  }

  // Why the hub refuses, and what helps.
  Error explained(const Error& error) const {
    const HttpResponse& last = client_.last();
    if (last.status != 401 && last.status != 403) return error;
    const bool has_token = !options_.http.token.empty();
    Error better{ErrorCode::kUnavailable, "", name_, ""};
    const std::string status = " (the hub answers " + std::to_string(last.status) + ")";
    const std::string token =
        has_token ? "the token given does not have that" : "give a token of that account";
    if (last.error_code == "GatedRepo" || (last.status == 403 && last.error_code.empty()))
      better.message = "access is gated: accept its licence at " + page() + " with your account, " +
                       token + status;
    else if (last.error_code == "RepoNotFound")
      better.message = "the hub knows no such repository, or it is private and " + token + status;
    else
      better.message =
          "the hub wants an account that may read this: see " + page() + "; " + token + status;
    return better;
  }

  HttpClient client_;
  SourceOptions options_;
  Url endpoint_;
  std::string name_;
  std::string revision_;
};

}  // namespace

bool is_hub_name(const std::string& text) {
  const std::size_t slash = text.find('/');
  return slash != std::string::npos && is_name_part(std::string_view(text).substr(0, slash)) &&
         is_name_part(std::string_view(text).substr(slash + 1));
}

Result<std::unique_ptr<Source>> hub_source(const std::string& name, const SourceOptions& options) {
  if (!is_hub_name(name))
    return Error{ErrorCode::kInvalidArgument, "'" + name + "' is not a name OWNER/MODEL", "", ""};
  if (options.revision.empty())
    return Error{ErrorCode::kInvalidArgument, "the revision is empty", "", ""};
  SAM3_ASSIGN_OR_RETURN(Url endpoint, parse_url(options.endpoint));
  if (endpoint.text.find('?') != std::string::npos)
    return Error{ErrorCode::kInvalidArgument,
                 "the endpoint '" + endpoint.shown() + "' has a query behind it", "", ""};
  SourceOptions own = options;
  own.http.token_origin = endpoint.text;
  SAM3_ASSIGN_OR_RETURN(HttpClient client, HttpClient::create(own.http));
  return std::unique_ptr<Source>(
      std::make_unique<HubSource>(std::move(client), std::move(own), std::move(endpoint), name));
}

}  // namespace sam3::fetch
