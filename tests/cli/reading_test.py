#!/usr/bin/env python3
"""Reading pictures: what every command sees of a file, and which files it refuses."""

import array
import json
import os
import struct
import unittest

from pictures import read_png, scene, write_png
from support import (
    BLACK,
    DATA,
    DISC,
    PICTURES,
    RED,
    SQUARE,
    WHITE,
    Mask,
    ProgramTest,
    picture,
)

PLACES = ((10, 10), (200, 140), (480, 340))
COLOURS = (WHITE, BLACK, RED)


class PixelsTest(ProgramTest):
    def check_scene(self, path, tolerance, places=PLACES, colours=COLOURS):
        with self.subTest(file=os.path.basename(path)):
            size, found, done = self.pixels(path, *places)
            self.assertEqual(size, (640, 480), done)
            for actual, expected in zip(found, colours):
                self.assert_colour(actual, expected, tolerance, done)
            return done

    def test_all_eight_orientations(self):
        for orientation in range(1, 9):
            self.check_scene(os.path.join(DATA, f"exif_{orientation}.jpg"), 4)
        for name in ("exif_6.jpg", "exif_6.png", "exif_6_bigendian.jpg", "exif_6_no_jfif.jpg"):
            self.check_scene(picture(name), 4)

    def test_broken_orientation_counts_as_upright(self):
        for name in ("bad_0", "bad_9", "bad_700", "cut", "double_prefix", "empty"):
            self.check_scene(picture(f"exif_{name}.jpg"), 4)

    def test_colour_models(self):
        for name in ("base", "cmyk_adobe", "ycck_adobe", "cmyk_plain"):
            self.check_scene(picture(f"{name}.jpg"), 3)
        for name in ("base.png", "rgb.tif"):
            self.check_scene(picture(name), 0)

    def test_sixteen_bits(self):
        self.check_scene(picture("gray16.png"), 1, colours=(WHITE, BLACK, (81, 81, 81)))
        self.check_scene(picture("rgb16.png"), 1)
        _, found, done = self.pixels(
            picture("gray16_ramp.png"), (0, 0), (128, 0), (256, 0), (511, 0)
        )
        for actual, expected in zip(found, (0, 64, 128, 255)):
            self.assert_colour(actual, (expected,) * 3, 1, done)
        self.assertEqual(done.err, "", done)

    def test_twelve_bits_in_sixteen_are_said(self):
        _, found, done = self.pixels(picture("gray12in16.png"), (10, 10))
        self.assert_colour(found[0], (15, 15, 15), 1, done)
        self.assertIn("4080", done.err, done)
        self.assertEqual(len(done.json["warnings"]), 1, done)

    def test_grey_palette_and_transparency(self):
        for name in ("gray1", "gray8", "la8", "pal8", "pal8_trns", "rgb_trns", "rgba"):
            self.check_scene(picture(f"{name}.png"), 1, PLACES[:2], COLOURS[:2])

    def test_content_decides_not_the_name(self):
        self.check_scene(picture("jpg_named.png"), 4)
        self.check_scene(picture("png_named.jpg"), 0)

    def test_positions_outside(self):
        for place in ("640,0", "0,480", "-1,0", "nan,0", "1", "1,2,3", "a,b"):
            with self.subTest(place=place):
                done = self.sam3("inspect", "pixels", picture("base.png"), place, code=2)
                self.assert_refused(done, place)


class ModelInputTest(ProgramTest):
    """inspect pixels --input: the tensor that the picture encoders get."""

    def planes(self, path):
        """(side, three planes of floats)."""
        target = self.path("input.npy")
        self.sam3("inspect", "pixels", path, "--input", target)
        content = self.read("input.npy")
        self.assertEqual(content[:6], b"\x93NUMPY")
        (length,) = struct.unpack_from("<H", content, 8)
        header = content[10 : 10 + length].decode("ascii")
        self.assertIn("'<f4'", header)
        shape = header.split("(")[1].split(")")[0]
        channels, height, width = (int(part) for part in shape.split(","))
        self.assertEqual((channels, height), (3, width))
        values = array.array("f")
        values.frombytes(content[10 + length :])
        count = width * height
        self.assertEqual(len(values), 3 * count)
        return width, [values[i * count : (i + 1) * count] for i in range(3)]

    def level(self, value):
        return (value * 0.5 + 0.5) * 255

    def test_shrinking_averages(self):
        # One-pixel checkerboard: without a widened filter it gives moire or flat 0 and 255.
        _, planes = self.planes(picture("checker.png"))
        for plane in planes:
            self.assertGreaterEqual(self.level(min(plane)), 125.9)
            self.assertLessEqual(self.level(max(plane)), 129.1)

    def test_same_as_pillow(self):
        side, planes = self.planes(picture("slant.png"))
        with open(os.path.join(DATA, "slant_resized.json"), encoding="utf-8") as file:
            expected = json.load(file)
        self.assertIn(str(side), expected, "no reference values for this model's picture size")
        for x, y, *colour in expected[str(side)]:
            actual = [self.level(plane[y * side + x]) for plane in planes]
            self.assert_colour(actual, colour, 1.01, (x, y))

    def test_order_of_the_channels(self):
        side, planes = self.planes(picture("base.png"))
        at = (340 * side // 480) * side + 480 * side // 640
        for plane, level in zip(planes, RED):
            self.assertAlmostEqual(plane[at], level / 255 * 2 - 1, delta=0.005)


class RefusedPicturesTest(ProgramTest):
    def test_damaged_pictures(self):
        for name in ("no_scan.jpg", "cut_half.jpg", "cut_95.jpg", "cut_half.png", "bad_crc.png"):
            with self.subTest(name=name):
                done = self.sam3("segment", picture(name), "black square", code=1)
                self.assert_refused(done, name, "damaged or cut off")

    def test_no_stale_memory_of_the_picture_before(self):
        pictures = [picture("base.jpg"), picture("no_scan.jpg"), picture("cut_half.jpg")]
        done = self.sam3("classes", "--classes", "black square", "--", *pictures, code=1)
        first, second, third = done.lines
        self.assertTrue(first["detections"], done)
        for failed, name in ((second, "no_scan.jpg"), (third, "cut_half.jpg")):
            self.assertEqual(set(failed), {"image", "error"}, done)
            self.assertIn(name, failed["error"])

    def test_damaged_pictures_are_taken_on_request(self):
        done = self.segment(picture("cut_half.jpg"), "black square", "--allow-truncated")
        self.assertIn("cut off", " ".join(done.json["warnings"]), done)
        self.assertIn("cut_half.jpg", done.err)
        self.assert_found(done, "black square", SQUARE)
        png = os.path.join(os.path.dirname(PICTURES), "formats", "noise_cut.png")
        _, _, done = self.pixels(png, (0, 0), "--allow-truncated")
        self.assertIn("rows are missing", " ".join(done.json["warnings"]), done)
        # There is nothing to show in a file without a scan.
        self.sam3("segment", picture("no_scan.jpg"), "dog", "--allow-truncated", code=1)

    def test_what_is_no_picture(self):
        cases = (
            ("zero.jpg", "empty"),
            ("text.jpg", "not a picture"),
            ("html.png", "html"),
            ("batch", "folder"),
            ("missing.jpg", "no such file"),
        )
        for name, word in cases:
            with self.subTest(name=name):
                done = self.sam3("segment", picture(name), "dog", code=None)
                self.assert_refused(done, name, word)
                done = self.sam3("points", picture(name), "--point", "1,1", code=None)
                self.assert_refused(done, name, word)

    def test_formats_that_are_not_read_are_named(self):
        formats = {
            "stub.heic": "HEIC",
            "stub_mif1.heic": "HEIC",
            "stub.avif": "AVIF",
            "stub.jxl": "JPEG XL",
            "stub.webp": "WebP",
            "drawing.svg": "SVG",
        }
        pictures = [picture(name) for name in formats]
        done = self.sam3("classes", "--classes", "dog", "--", *pictures, code=1)
        lines = [line for line in done.err.splitlines() if "stub" in line or "drawing" in line]
        self.assertEqual(len(lines), 6, done)
        for (name, kind), line, entry in zip(formats.items(), lines, done.lines):
            for text in (line, entry["error"]):
                self.assertIn(name, text)
                self.assertIn(kind, text)
                self.assertRegex(text, r'convert it.*"[\w-]+ .*FILE', "no way to convert it")
        self.assertIn("0 ok, 6 failed", done.err)

    def test_sizes_are_limited(self):
        done = self.sam3("segment", picture("bomb.png"), "dog", code=1)
        self.assert_refused(done, "bomb.png", "24000x24000", "--max-pixels")
        done = self.sam3("inspect", "pixels", picture("base.png"), "--max-pixels", "307199", code=1)
        self.assert_refused(done, "base.png", "640x480", "--max-pixels")
        self.sam3("inspect", "pixels", picture("base.png"), "--max-pixels", "307200")

    def test_a_bomb_among_others(self):
        pictures = [picture("bomb.png"), picture("bomb_header.png"), picture("base.png")]
        done = self.sam3("classes", "--classes", "black square", "--", *pictures, code=1)
        self.assertEqual([("error" in entry) for entry in done.lines], [True, True, False])


class BombMemoryTest(ProgramTest):
    def test_refused_from_the_header(self):
        for name in ("bomb.png", "bomb_header.png"):
            with self.subTest(name=name):
                done = self.sam3(
                    "segment", picture(name), "dog", code=1, address_space=6_000_000 * 1024
                )
                self.assert_refused(done, name)
                self.assertLess(done.peak_bytes, 200e6, done)
                self.assertLess(done.cpu_seconds, 2, done)


class TinyPicturesTest(ProgramTest):
    SIZES = {"px1": (1, 1), "w1": (1, 480), "h1": (640, 1), "wide": (8000, 3)}

    def test_phrases(self):
        for name, size in self.SIZES.items():
            with self.subTest(name=name):
                # From the lowest threshold on, so that there is something to enlarge.
                answer = self.segment(
                    picture(f"{name}.png"), "black square", "--threshold", "0", "--masks", name
                ).json
                self.assertEqual((answer["width"], answer["height"]), size)
                self.assertTrue(answer["detections"])
                for detection in answer["detections"]:
                    x0, y0, x1, y1 = detection["box"]
                    self.assertTrue(
                        0 <= x0 <= x1 <= size[0] and 0 <= y0 <= y1 <= size[1], detection
                    )
                masks = sorted(os.listdir(self.path(name)))
                self.assertEqual(len(masks), len(answer["detections"]))
                self.assertEqual(Mask.load(self.path(name, masks[0])).size, size)

    def test_clicks(self):
        for name, size in self.SIZES.items():
            with self.subTest(name=name):
                answer, mask = self.points(picture(f"{name}.png"), "--point", "0,0")
                self.assertEqual((answer["width"], answer["height"]), size)
                self.assertEqual(mask.size, size)
                self.assertEqual(mask.area, answer["area"])


class DisplayedPixelsTest(ProgramTest):
    """Every size, click, box and mask is one of the picture as displayed."""

    def test_clicks_on_a_turned_picture(self):
        _, upright = self.points(picture("base.png"), "--point", "200,140")
        self.assertGreater(upright.iou_with_box(SQUARE), 0.8)
        answer, turned = self.points(picture("exif_6.jpg"), "--point", "200,140")
        self.assertEqual((answer["width"], answer["height"]), (640, 480))
        self.assertEqual(turned.size, (640, 480))
        self.assertGreater(turned.iou(upright), 0.95)

    def test_phrases_on_turned_pictures(self):
        pictures = [os.path.join(DATA, f"exif_{orientation}.jpg") for orientation in range(1, 9)]
        done = self.sam3(
            "classes", "--classes", "black square", "red disc", "--rle", "--", *pictures
        )
        for entry in done.lines:
            with self.subTest(image=entry["image"]):
                self.assertEqual((entry["width"], entry["height"]), (640, 480))
                for prompt, box in (("black square", SQUARE), ("red disc", DISC)):
                    found = [d for d in entry["detections"] if d["prompt"] == prompt]
                    self.assertEqual(len(found), 1, entry)
                    self.assert_box(found[0]["box"], box)
                    self.assertEqual(found[0]["rle"]["size"], [480, 640])
                    self.assert_box(Mask.from_rle(found[0]["rle"]).tight_box(), box)

    def test_overlay_is_displayed_upright(self):
        self.sam3("segment", picture("exif_6.jpg"), "black square", "--out", "overlay.png")
        width, height, channels, rows = read_png(self.path("overlay.png"))
        self.assertEqual((width, height, channels), (640, 480, 3))
        for (x, y), colour in (((10, 470), WHITE), ((480, 340), RED)):
            self.assert_colour(rows[y][3 * x : 3 * x + 3], colour, 4)
        self.assertNotEqual(rows[140][600:603], bytes(BLACK))  # the drawn mask

    def test_sides_are_not_mixed_up(self):
        for size, box in (((480, 640), (60, 120, 220, 280)), ((1000, 400), (640, 120, 880, 280))):
            with self.subTest(size=size):
                path = write_png(self.path("scene.png"), scene(size, box))
                done = self.segment(path, "black shape", "--masks", "m")
                self.assert_found(done, "black shape", box)
                x, y = (box[0] + box[2]) // 2, (box[1] + box[3]) // 2
                answer, mask = self.points(path, "--point", f"{x},{y}")
                self.assertEqual(mask.size, size)
                self.assertGreater(mask.iou_with_box(box), 0.75)
                self.assert_box(answer["box"], box, 0.75)


if __name__ == "__main__":
    unittest.main()
