"""From a scenario to the objects of a run.

The `builder` makes them all: `data`, of which some are `kept_aside`, `poisoned` by attackers, or
`shared_data` of several runs; the `fleet`, with a `group_drawing` for each of its groups, its
`links` and what varies from one of the `occasions` to another; the `model`, of which a
`clients_judge` may ask how good it is for each client, and `model_facts` that virtual time needs of
it; and what a server is told, its `settings`.  Schedules and links of users' own are `guarded`.
`endings` finds runs that would never end.  `calibration` makes fleets that are like measured
devices.
"""
