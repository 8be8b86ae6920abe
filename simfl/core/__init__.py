"""The ground: types, work, rows, names, random streams and units."""
