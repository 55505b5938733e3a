"""Shapes as signed distance functions and colours as ranges of hue, saturation and value."""

import numpy as np

# Hue in degrees, saturation, value: the range that a colour word covers.
COLOUR_RANGES = {
    "red": ((-8, 8), (0.78, 1), (0.7, 0.97)),
    "orange": ((23, 33), (0.85, 1), (0.9, 1)),
    "yellow": ((50, 60), (0.7, 1), (0.88, 1)),
    "green": ((105, 145), (0.6, 1), (0.42, 0.85)),
    "cyan": ((176, 190), (0.6, 1), (0.8, 1)),
    "blue": ((212, 236), (0.7, 1), (0.5, 0.97)),
    "purple": ((268, 288), (0.55, 0.9), (0.42, 0.75)),
    "pink": ((322, 340), (0.35, 0.6), (0.94, 1)),
    "black": ((0, 360), (0, 0.3), (0.02, 0.13)),
    "white": ((0, 360), (0, 0.05), (0.94, 1)),
    "gray": ((0, 360), (0, 0.08), (0.42, 0.6)),
}


def hsv_to_rgb(hue, saturation, value):
    """Hue in degrees of any sign; RGB float32 [3] in 0..1."""
    sector = (hue % 360) / 60.0
    index = int(sector)
    fraction = sector - index
    p = value * (1 - saturation)
    q = value * (1 - saturation * fraction)
    t = value * (1 - saturation * (1 - fraction))
    rgb = [(value, t, p), (q, value, p), (p, value, t), (p, q, value), (t, p, value), (value, p, q)]
    return np.array(rgb[index % 6], np.float32)


def draw_colour(rng, colour):
    """A random RGB float32 [3] that the colour word fits."""
    return hsv_to_rgb(*(rng.uniform(*limits) for limits in COLOUR_RANGES[colour]))


def _polygon(x, y, sides, apothem):
    """Distance to the edges of a regular polygon with a corner at the top."""
    step = 2 * np.pi / sides
    angle = np.arctan2(x, -y)
    angle = (angle % step) - step / 2
    return np.hypot(x, y) * np.cos(angle) - apothem


def _circle(x, y, r):
    return np.hypot(x, y) - r


def _ring(x, y, r):
    distance = np.hypot(x, y)
    return np.maximum(distance - r, 0.55 * r - distance)


def _square(x, y, r):
    return np.maximum(np.abs(x), np.abs(y)) - 0.82 * r


def _triangle(x, y, r):
    return _polygon(x, y, 3, 0.56 * r)


def _hexagon(x, y, r):
    return _polygon(x, y, 6, 0.9 * r)


def _star(x, y, r):
    outer, inner = 1.12 * r, 0.46 * 1.12 * r
    step = 2 * np.pi / 5
    angle = np.arctan2(x, -y)
    angle = np.abs((angle + step / 2) % step - step / 2)  # folded to half a spike, its tip at 0
    distance = np.hypot(x, y)
    px, py = distance * np.sin(angle), distance * np.cos(angle)
    # The edge from the tip (0, outer) to the notch (notch_x, notch_y) and its normal.
    notch_x, notch_y = inner * np.sin(step / 2), inner * np.cos(step / 2)
    normal_x, normal_y = outer - notch_y, notch_x
    scale = 1.0 / np.hypot(normal_x, normal_y)
    return (px * normal_x + (py - outer) * normal_y) * scale


def _cross(x, y, r):
    half_width = 0.36 * r
    ax, ay = np.abs(x), np.abs(y)
    return np.minimum(np.maximum(ax - r, ay - half_width), np.maximum(ay - r, ax - half_width))


def _heart(x, y, r):
    """A square on its corner with a disc on each of its upper sides."""
    side = 0.62 * r
    u, v = (x + (y - 0.12 * r)) * np.sqrt(0.5), (x - (y - 0.12 * r)) * np.sqrt(0.5)
    body = np.maximum(np.abs(u), np.abs(v)) - side
    k = side * np.sqrt(0.5)
    left = np.hypot(x - k, y - 0.12 * r + k)
    right = np.hypot(x + k, y - 0.12 * r + k)
    return np.minimum(body, np.minimum(left, right) - side)


_DISTANCES = {
    "circle": _circle,
    "square": _square,
    "triangle": _triangle,
    "star": _star,
    "ring": _ring,
    "cross": _cross,
    "hexagon": _hexagon,
    "heart": _heart,
}


def signed_distance(shape, x, y, r):
    """Distance to the outline, negative inside; y points down, r is about the outer radius.

    Lengths have the unit of x, y and r. Outside a corner the value is a lower bound."""
    return _DISTANCES[shape](x, y, r)
