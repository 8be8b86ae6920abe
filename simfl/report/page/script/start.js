// What is done once, when all of the page is there.
fit();
// For tests: what the script would save, and draw in place of what the page came with.
window.simfl = {figures, joined, csvOf,
  redraw: figure => asItCame(figure, begin()).map(p => p.svg).join("")};
