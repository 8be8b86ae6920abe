"""Pages: of a run or several, of runs as they grow, of a tuning.

A `page` begins with the `answer`, then `notes` on whether to believe it, the table of `results`
and what `factors` a sweep varied; `sections` have charts, and tables of `devices` and
`fleet_groups`; `origins` are how the runs were made.  A page of a `tuning` is its own, and `serve`
shows `live` ones.  `tables` are data until `rendering` fills in the templates.
"""
