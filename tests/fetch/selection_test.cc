#include <gmock/gmock.h>

#include "fetch/listing.h"

namespace sam3::fetch {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;

Listing listing_of(std::initializer_list<const char*> paths) {
  Listing listing;
  for (const char* path : paths) listing.files.push_back({path, 1, "", "", std::nullopt});
  return listing;
}

std::vector<std::string> selected(Listing listing, std::optional<Workflow> only, bool strict) {
  select_files(only, strict, listing).value();
  std::vector<std::string> paths;
  for (const ListedFile& file : listing.files) paths.push_back(file.path);
  return paths;
}

Listing five_graphs() {
  return listing_of({"vision_encoder/model.onnx", "vision_encoder/model.onnx.data",
                     "text_encoder/model.onnx", "detector/model.onnx",
                     "tracker_vision_encoder/model.onnx", "prompt_decoder/model.onnx",
                     "prompt_decoder/model.onnx.data", "tokenizer/tokenizer.json", "model.json",
                     "LICENSE", "segment.py", "images/cat.png", ".gitattributes"});
}

TEST(Selection, OneWorkflowWithWhatItShares) {
  EXPECT_THAT(selected(five_graphs(), Workflow::kPoint, true),
              UnorderedElementsAre("tracker_vision_encoder/model.onnx", "prompt_decoder/model.onnx",
                                   "prompt_decoder/model.onnx.data", "model.json", "LICENSE"));
  EXPECT_THAT(selected(five_graphs(), Workflow::kText, true),
              UnorderedElementsAre("vision_encoder/model.onnx", "vision_encoder/model.onnx.data",
                                   "text_encoder/model.onnx", "detector/model.onnx",
                                   "tokenizer/tokenizer.json", "model.json", "LICENSE"));
}

TEST(Selection, AllOfAModelAndNothingElse) {
  EXPECT_EQ(selected(five_graphs(), std::nullopt, true).size(), 10U);
  // What a package's own record lists is taken whole.
  EXPECT_EQ(selected(five_graphs(), std::nullopt, false).size(), 13U);
}

TEST(Selection, BrowserFamily) {
  const auto browser = [] {
    return listing_of({"sam3_image_encoder.onnx", "sam3_language_encoder.onnx", "sam3_decoder.onnx",
                       "clip_tokenizer.json", "README.md", "x.js"});
  };
  EXPECT_EQ(selected(browser(), std::nullopt, true).size(), 5U);
  EXPECT_EQ(selected(browser(), Workflow::kText, true).size(), 5U);
  Listing listing = browser();
  EXPECT_EQ(select_files(Workflow::kPoint, true, listing).error().code, ErrorCode::kNotFound);
}

TEST(Selection, Checkpoints) {
  const auto checkpoint = [] {
    return listing_of({"model.safetensors", "config.json", "merges.txt", "sam3.pt"});
  };
  EXPECT_THAT(selected(checkpoint(), std::nullopt, true),
              UnorderedElementsAre("model.safetensors", "config.json", "merges.txt"));
  Listing listing = checkpoint();
  EXPECT_FALSE(select_files(Workflow::kText, true, listing).ok());
}

TEST(Selection, NamesWhatIsMissing) {
  Listing some = listing_of({"vision_encoder/model.onnx", "text_encoder/model.onnx", "README.md"});
  const Status status = select_files(std::nullopt, true, some);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("detector/model.onnx"));
  Listing none;
  EXPECT_FALSE(select_files(std::nullopt, true, none).ok());
}

TEST(Licence, WhichNeedNoAcceptance) {
  for (const char* name : {"Apache-2.0", "apache-2.0", "MIT", "bsd-3-clause", "Apache License",
                           "MIT License", "CC0-1.0"})
    EXPECT_TRUE(is_permissive(name)) << name;
  for (const char* name : {"SAM License", "sam-license", "other", "", "mit-but-not-really",
                           "cc-by-nc-4.0", "openrail"})
    EXPECT_FALSE(is_permissive(name)) << name;
}

}  // namespace
}  // namespace sam3::fetch
