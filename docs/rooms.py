"""Draw the rooms of laya/ from its imports: ``python docs/rooms.py`` writes docs/rooms.svg.

The floors are those of the contract "data flows one way" in pyproject.toml. A line is an import between two rooms;
those that follow from others are left out (the transitive reduction).
"""

import tomllib
from pathlib import Path

import grimp

PROJECT = Path(__file__).parent.parent
PICTURE = Path(__file__).with_suffix(".svg")
WIDTH, FLOOR, BOX, HEIGHT = 760, 74, 128, 34
LEAN = 46  # pixels by which floors are shifted in turn, so that a line is not hidden behind the rooms between its ends
GROUND = 2  # floors at the bottom that every room may use: no lines lead there
INK, LINE, FILL = "#1F2430", "#8A93A3", "#EAF2F9"


def floors() -> list[list[str]]:
    """The rooms, a list for each floor, the roof first."""
    contracts = tomllib.loads((PROJECT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = (each["layers"] for each in contracts if each["name"] == "data flows one way")
    return [[room.strip().removeprefix("laya.") for room in layer.split("|")] for layer in layers[1:]]


def imports(rooms: list[str]) -> dict[str, set[str]]:
    """Which rooms each room imports from directly."""
    graph = grimp.build_graph("laya", cache_dir=None)
    inside = {room: {f"laya.{room}", *graph.find_descendants(f"laya.{room}")} for room in rooms}
    home = {module: room for room, modules in inside.items() for module in modules}
    return {
        room: {
            home[each] for module in modules for each in graph.find_modules_directly_imported_by(module) if each in home
        }
        - {room}
        for room, modules in inside.items()
    }


def reduced(edges: dict[str, set[str]]) -> dict[str, set[str]]:
    """Without what follows from the rest."""

    def reach(room: str) -> set[str]:
        return edges[room].union(*(reach(each) for each in edges[room]))

    return {
        room: {each for each in below if not any(each in reach(b) for b in below - {each})}
        for room, below in edges.items()
    }


def draw() -> str:
    """The picture as SVG."""
    rows = floors()
    place = {
        room: (WIDTH * (column + 1) / (len(row) + 1) + LEAN * (number % 3 - 1) * (len(row) < 3), FLOOR * number + 30)
        for number, row in enumerate(rows)
        for column, room in enumerate(row)
    }
    lines, boxes = [], []
    upper = [room for row in rows[:-GROUND] for room in row]
    for room, below in reduced(imports(upper)).items():
        x, y = place[room]
        for each in sorted(below):
            u, v = place[each]
            start, end = y + HEIGHT / 2, v - HEIGHT / 2
            lines.append(
                f'<path d="M{x:.0f} {start:.0f} C{x:.0f} {start + 26:.0f} {u:.0f} {end - 26:.0f} {u:.0f} {end:.0f}" '
                f'fill="none" stroke="{LINE}" stroke-width="1.3" marker-end="url(#tip)"/>'
            )
    for room, (x, y) in place.items():
        boxes.append(
            f'<rect x="{x - BOX / 2:.0f}" y="{y - HEIGHT / 2:.0f}" width="{BOX}" height="{HEIGHT}" rx="6" '
            f'fill="{FILL}" stroke="{LINE}"/><text x="{x:.0f}" y="{y + 5:.0f}" text-anchor="middle">{room}</text>'
        )
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {FLOOR * len(rows)}" role="img" '
        f'font-family="sans-serif" font-size="15" fill="{INK}"><title>The rooms of laya and their imports</title>'
        f'<rect width="100%" height="100%" fill="#FFFFFF"/><defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" '
        f'markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" fill="{LINE}"/></marker></defs>'
    )
    return "\n".join([head, *lines, *boxes, "</svg>"]) + "\n"


if __name__ == "__main__":
    PICTURE.write_text(draw())
