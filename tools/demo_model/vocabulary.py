"""The words of the demo model: what scenes are made of and how prompts name it."""

SHAPES = ["circle", "square", "triangle", "star", "ring", "cross", "hexagon", "heart"]
COLOURS = [
    "red",
    "orange",
    "yellow",
    "green",
    "cyan",
    "blue",
    "purple",
    "pink",
    "black",
    "white",
    "gray",
]
SIZES = ["small", "medium", "large"]
# Square root of the box area in pixels of the square model input. The gaps between the ranges keep
# the words well defined; "medium" has no word of its own.
SIZE_PIXELS = {"small": (38, 52), "medium": (62, 80), "large": (98, 134)}

# (singular, plural); a form that stands there several times is drawn more often.
SHAPE_WORDS = {
    "circle": [("circle", "circles")] * 3 + [("disc", "discs")],
    "square": [("square", "squares")],
    "triangle": [("triangle", "triangles")],
    "star": [("star", "stars")],
    "ring": [("ring", "rings")] * 3 + [("donut", "donuts")],
    "cross": [("cross", "crosses")] * 3 + [("plus", "pluses")],
    "hexagon": [("hexagon", "hexagons")],
    "heart": [("heart", "hearts")],
}
COLOUR_WORDS = {colour: [colour] for colour in COLOURS}
COLOUR_WORDS["gray"] = ["gray", "grey"]
COLOUR_WORDS["purple"] = ["purple", "purple", "violet"]
SIZE_WORDS = {"small": ["small", "small", "little"], "large": ["large", "large", "big"]}
GENERIC_WORDS = [("object", "objects"), ("shape", "shapes"), ("thing", "things")]
DETERMINERS = ["a", "an", "the", "all", "every", "all the"]
# The text that goes with an exemplar box.
EXEMPLAR_TEXT = "visual"

# Pairs that no training prompt names together; objects with them do occur in the pictures.
HELD_OUT = {
    ("red", "star"),
    ("blue", "circle"),
    ("green", "ring"),
    ("yellow", "heart"),
    ("purple", "triangle"),
    ("orange", "cross"),
    ("white", "square"),
    ("cyan", "hexagon"),
}

# Words that name nothing in the scenes. Their token rows stay zero: all unknown words look alike.
UNKNOWN_NOUNS = """
dog cat car person tree house apple bottle chair table phone keyboard bird horse boat plane train
truck bus bicycle flower cup plate knife spoon book clock lamp sofa bed window door shoe hat shirt
bag umbrella mountain river cloud sun moon road bridge fence wall grass sand snow fire water banana
pizza cake bread cheese sheep cow elephant bear zebra giraffe mouse laptop camera guitar piano
violin drum ball kite glove helmet skateboard surfboard racket wine fork bowl carrot sandwich
broccoli couch plant toilet oven sink refrigerator scissors toothbrush dragon robot wizard castle
rocket engine wheel hammer nail screw pencil eraser paper
""".split()
UNKNOWN_ADJECTIVES = """
wooden plastic metal shiny broken happy old furry wet transparent heavy frozen parked rusty
""".split()


def known_words():
    """Every known word form; the rows of their tokens are the ones that are trained."""
    words = [EXEMPLAR_TEXT, *DETERMINERS]
    for forms in [*SHAPE_WORDS.values(), GENERIC_WORDS]:
        words += [word for form in forms for word in form]
    for forms in [*COLOUR_WORDS.values(), *SIZE_WORDS.values()]:
        words += forms
    return words
