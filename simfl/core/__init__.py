"""The ground: types, work, rows, components by name, random streams; units, tables, downloads.

- What is passed around: `types`, `work`, `rows`, `evaluation`, `target`, `labels`, and `seeds` of
  random streams; `apportion` shares whole numbers out, `readonly` arrays are to be looked at, and
  `epsilon` says what privacy has been spent, and `costs` what else runs take.
- A `component` is found in the `registry`, which knows `plugins` and users' `code`; errors inside
  its `named_options` are told, and it objects to `circumstances`.
- What goes wrong in one is told by `blame`: whose it is says `ownership`, who is `at_work` and
  what was `returned`.
- What users write and read: `units`, `arguments` of calls, `words` of messages.
- `files` that appear whole, a `file_tree` that may have changed, CSV `tables`, `downloads`, the
  `machine`; `extras` are packages that need not be there.
"""
