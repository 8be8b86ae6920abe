"""What came of runs, read from their folders: tables, comparisons, statistics.

`find` finds them.  A `result` is what came of one, with how its models were `judged` and its
`costs`; `grouping` tells several apart, and `several` says what all of them have.

- `compare` chooses what a `comparison` tells: a `metric` for each of the `compared_columns`, at
  `asked_targets`, with `statistics` over seeds, and variants seed by seed as `paired`, or by
  `signs` alone; a `column` is one of them, and a `tradeoff` is of two metrics;
- `anatomy` says what a run's time went to, along the `critical_path` of each round, a selector's
  `questions` included; at the end of rounds that ended `by_deadline` nobody was waited for;
- `participations` are what each client's part in a round was;
- `export` writes tables for other programs.
"""
