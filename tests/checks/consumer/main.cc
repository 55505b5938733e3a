#include <cstdio>

#include "sam3/sam3.h"

int main(int, char** arguments) {
  auto model = sam3::Model::open(arguments[1]).value();
  auto picture = sam3::read_picture(arguments[2]).value().picture;
  auto features = model.encode_image(picture).value();
  for (const auto& found : model.detect(features, arguments[3]).value())
    std::printf("%.2f %.0f\n", found.score, found.box.x0);
}
