"""One chart of runs for a paper or a slide: what `simfl plot` draws, with matplotlib.

The `drawing` is of `measures` across and upwards, the one of a `tradeoff` of costs, both on a
`canvas`; `line_names` stand beside the lines or below, and a `caption` or a `tradeoff_caption` says
what is shown.
"""

# `as` says that they are exported.
from simfl.report.plot.canvas import WIDTHS as WIDTHS
from simfl.report.plot.drawing import BANDS as BANDS
from simfl.report.plot.drawing import Band as Band
from simfl.report.plot.drawing import plot as plot
