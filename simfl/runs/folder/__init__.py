"""A run's folder: what is written as the run goes on, and read again.

`folder` knows the files by name, and what is a run.  Whoever writes holds the `lock`:

- the `recorder` writes the `eventlog`, of which `event_kinds` says what it tells, and tables; each
  is a `growing_file`;
- the `summary` is folded along, with `measures` over the rounds;
- `checkpoint` keeps what a replay can't make again.

`files` reads those that say what a run is, and what is `written` in its scenario, `run_tables` its
`tables` too, and `records` all of it as it stands.  Of a fork, `stages` are its scenarios and
`policies` those of each round; `criteria` are what models were judged by.  `file_descriptions`
tells people what each file holds, and `provenance_keys` what `provenance.json` does; `json_files`
are read and written whole, and what stands in them and in scenarios is of certain `kinds`.  What
users name is written `outside` of such folders.
"""
