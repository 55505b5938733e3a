#!/usr/bin/env python3
"""Clicks and boxes: which are taken, and which of the decoder's masks is returned."""

import unittest

from support import DISC, SQUARE, ProgramTest, picture


class PointsTest(ProgramTest):
    def test_clicks_select_what_is_under_them(self):
        for click, box in (("200,140", SQUARE), ("480,340", DISC)):
            with self.subTest(click=click):
                answer, mask = self.points(picture("base.png"), "--point", click)
                self.assertEqual(mask.size, (640, 480))
                self.assertTrue(answer["present"])
                self.assert_box(answer["box"], box, 0.8)
                x, y = map(int, click.split(","))
                self.assertTrue(mask.at(x, y))
                self.assertFalse(mask.at(10, 10))
                # What is reported belongs to the mask that is written.
                self.assertEqual(answer["area"], mask.area)
                self.assertEqual(tuple(answer["box"]), mask.tight_box())

    def test_fractions_and_edges_of_the_picture(self):
        for click in ("200.5,140.25", "2e2,140"):
            with self.subTest(click=click):
                answer, _ = self.points(picture("base.png"), "--point", click)
                self.assert_box(answer["box"], SQUARE, 0.8)
        for click in ("0,0", "639,479"):
            with self.subTest(click=click):
                self.points(picture("base.png"), "--point", click)

    def test_rule_for_the_mask(self):
        one_click, _ = self.points(picture("base.png"), "--point", "200,140")
        self.assertIn(one_click["token"], (1, 2, 3))
        cases = (
            ("--point", "200,140", "160,100"),
            ("--box", "120,60,280,220"),
            ("--point", "200,140", "--negative", "480,340"),
            ("--negative", "480,340"),
            ("--point", "320,240", "--box", "100,40,600,440"),
        )
        for arguments in cases:
            with self.subTest(arguments=arguments):
                answer, _ = self.points(picture("base.png"), *arguments)
                self.assertTrue(0 <= answer["stability"] <= 1, answer)
                self.assertEqual(answer["token"] == 0, answer["stability"] >= 0.98, answer)

    def test_negative_clicks_take_their_part_away(self):
        # Two black halves with a gap between them; the click speaks against the right one.
        left, right = (120, 60, 190, 220), (210, 60, 280, 220)
        for arguments, most in (("--point", "150,140"), 0.15), (("--box", "100,40,300,240"), 0.2):
            with self.subTest(arguments=arguments):
                _, whole = self.points(picture("split.png"), *arguments)
                _, part = self.points(picture("split.png"), *arguments, "--negative", "240,140")
                self.assertGreater(whole.area_in(right), 0.9 * 70 * 160)
                self.assertTrue(whole.at(240, 140))
                self.assertFalse(part.at(240, 140))
                self.assertGreater(part.area_in(left), 0.8 * 70 * 160)
                self.assertLess(part.area_in(right), most * whole.area_in(right))

    def test_negative_clicks_are_passed_on(self):
        plain, _ = self.points(picture("split.png"), "--point", "150,140")
        negative, mask = self.points(
            picture("split.png"), "--point", "150,140", "--negative", "480,340"
        )
        self.assertNotEqual(plain["iou"], negative["iou"])
        self.assertFalse(mask.at(480, 340))
        opposite, disc = self.points(
            picture("split.png"), "--negative", "150,140", "--point", "480,340"
        )
        self.assertNotEqual(opposite["iou"], negative["iou"])
        self.assertGreater(disc.area_in(DISC), 0.7 * 11310)
        self.assertTrue(disc.at(480, 340))
        self.points(picture("split.png"), "--point", "150,140", "--negative", "150,140")


class BoxesTest(ProgramTest):
    def test_corners_in_any_order(self):
        boxes = ("280,220,120,60", "120,60,280,220", "120,220,280,60", "280,60,120,220")
        files = []
        for i, box in enumerate(boxes):
            self.sam3("points", picture("base.png"), "--box", box, "--out", f"{i}.png")
            files.append(self.read(f"{i}.png"))
        self.assertEqual(len(set(files)), 1)
        answer, mask = self.points(picture("base.png"), "--box", boxes[0])
        self.assert_box(answer["box"], SQUARE, 0.8)
        self.assertGreater(mask.iou_with_box(SQUARE), 0.8)

    def test_a_box_over_the_edge_is_clipped(self):
        beyond, _ = self.points(picture("base.png"), "--box=-50,-50,400,2000")
        inside, _ = self.points(picture("base.png"), "--box", "0,0,400,480")
        for answer in (beyond, inside):
            del answer["timings"]
        self.assertEqual(beyond, inside)

    def test_boxes_that_make_no_sense(self):
        cases = {
            "5,5,5,90": "area",
            "5,5,90,5": "area",
            "700,500,800,600": "outside",
            "-9,-9,-1,-1": "outside",
            "0.1,0.1,0.4,0.4": "pixels",
            "nan,0,1,1": "nan",
            "1,1,inf,9": "number",
            "1,2,3": "x0,y0,x1,y1",
            "1,2,3,4,5": "x0,y0,x1,y1",
            "1;2;3;4": "x0,y0,x1,y1",
            "10,5,20,5x": "x0,y0,x1,y1",
        }
        for box, word in cases.items():
            with self.subTest(box=box):
                done = self.sam3(
                    "points", picture("base.png"), f"--box={box}", "--out", "m.png", code=2
                )
                self.assert_refused(done, box, word)

    def test_clicks_that_make_no_sense(self):
        for click in ("700,3", "-1,-1", "3,481", "nan,1", "1,inf"):
            with self.subTest(click=click):
                done = self.sam3("points", picture("base.png"), f"--point={click}", code=2)
                self.assert_refused(done, click, "640x480" if "n" not in click else "")
        for click in ("200", "200,", "200,140,", "200;140", "200 140", "0x10,5", "a,b"):
            with self.subTest(click=click):
                done = self.sam3("points", picture("base.png"), f"--negative={click}", code=2)
                self.assert_refused(done, click, "x,y")
        self.assert_refused(self.sam3("points", picture("base.png"), code=2), "--point")


if __name__ == "__main__":
    unittest.main()
