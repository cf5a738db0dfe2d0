"""Every colour of the charts, and what can be read on it."""

GREY = "#8A93A3"
ACCENT = "#0072B2"
OTHER = "#D55E00"  # the second of two things that are compared (Okabe-Ito)
INK = "#1F2430"
PAPER = "#FFFFFF"  # what a chart stands on outside of the app
BLACK, WHITE = "#000000", "#FFFFFF"
BLUES = ("#A9CDE8", "#2E7FBF", "#0B3D6E")  # from pale to deep
DIVERGING = [(0, "#B2182B"), (0.25, "#F4A582"), (0.5, "#F7F7F7"), (0.75, "#92C5DE"), (1, "#2166AC")]  # ColorBrewer RdBu

Scale = list[tuple[float, str]]  # shares of the way from the lowest to the highest value, with colours #RRGGBB


def sequential(ground: str) -> Scale:
    """From the ground that a chart stands on to the blue that stands out most from it: nothing looks like nothing."""
    blues = BLUES if ink_on(ground) == BLACK else BLUES[::-1]
    return list(zip((0, 0.25, 0.6, 1), (ground, *blues), strict=True))


def diverging(ground: str) -> Scale:
    """From red over the ground that a chart stands on, which is 0, to blue."""
    deep_red, red, _, blue, deep_blue = (colour for _, colour in DIVERGING)
    ends = (deep_red, red, blue, deep_blue)
    if ink_on(ground) == WHITE:
        ends = (red, deep_red, deep_blue, blue)
    return list(zip((0, 0.25, 0.5, 0.75, 1), (*ends[:2], ground, *ends[2:]), strict=True))


def ink_on(colour: str) -> str:
    """Black or white, whichever is easier to read on a colour (WCAG 2, relative luminance)."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return BLACK if luminance > 0.179 else WHITE
