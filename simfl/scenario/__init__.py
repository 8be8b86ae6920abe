"""What a user writes: one YAML file, typed and checked (no torch).

A `document` is what is written, in the YAML of `language`; `overrides` change it, at `paths` that
its schema has, whose `fields` say what fits there; `bundles` are options that fill in others, and
`conflicts` changes of which one undoes another.  It stands for `variants`, and `one_variant` of it
is a `scenario`, made of `parts`, with `distributions` where devices differ.

- `problems` tells all that is wrong with it, in the user's `wording`, with `hints` at what was
  meant, by all `keys` that there are; and `lost_files`;
- `checks` asks components what they can't go with, `incompatible_parts` the rest (with `personal`
  parameters, and others), and `looked_up` which client has no row or record;
- `cautions`, some about `idle_settings` (`token_cautions` about text), and `assumptions` are told,
  and done all the same;
- `criteria` are what models are judged by, and `privacy` says whether there is an epsilon.

`reference` tells people and editors what the language has.
"""

from simfl.scenario.distributions import Draw
from simfl.scenario.document import Document
from simfl.scenario.parts.fleet import Group
from simfl.scenario.scenario import Scenario
from simfl.scenario.variants import Run, expand

__all__ = ["Document", "Draw", "Group", "Run", "Scenario", "expand"]
