"""The server: what round policies share, in pieces of one idea each.

A round goes through them like this:

- `waiting`, until enough `candidates` are there;
- `selection` asks the selector, and by `probing` the clients that it wants to hear of first;
- `dispatch` sends out what `planning` says, a `participation` each;
- `closing` says when the round may close, after `deadlines` measured by `nominal_times`;
- `aggregation` (with edge servers, `edges`) has the next model made, and books whose updates count;
- `round_end` judges it, and looks at the stopping rules in `settings`, by the `privacy` that the
  rounds have spent, too.

Where nobody waits for a cohort, `active_clients` keeps clients at work.  `background` has processes
of the server's own; `silence` ends a run in which nothing comes back any more, and `standstill`
one whose clock hardly moves.  `accounting` writes every row; `idle_energy` knows what those draw
who take no part, by `online_energy` and `paused`.  `state` is what all of these share, and `server`
makes them.
"""
