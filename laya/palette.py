"""Every colour of the charts, and what can be read on it."""

GREY = "#8A93A3"
ACCENT = "#0072B2"
OTHER = "#D55E00"  # the second of two things that are compared (Okabe-Ito)
INK = "#1F2430"
DIVERGING = [(0, "#B2182B"), (0.25, "#F4A582"), (0.5, "#F7F7F7"), (0.75, "#92C5DE"), (1, "#2166AC")]  # ColorBrewer RdBu


def ink_on(colour: str) -> str:
    """Black or white, whichever is easier to read on a colour (WCAG 2, relative luminance)."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#000000" if luminance > 0.179 else "#FFFFFF"
