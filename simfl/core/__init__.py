"""The ground: types, work, rows, components by name, random streams; units, tables, downloads."""
