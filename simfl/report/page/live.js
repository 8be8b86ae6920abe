// Keeps a page of `simfl watch` fresh: asks whether its runs have grown, and loads it again if so;
// if its reader has changed a chart, not without being asked; if its reader is leaving, not at all.
"use strict";
(() => {
const box = document.getElementById("live"), version = box.dataset.version;
const touched = () => (window.simfl ? window.simfl.figures : []).some(f => {
  const s = f.state;
  return s.x || s.y || s.logx || s.logy || s.single || s.together || s.zoom || s.hidden.size;
});
let leaving = false;  // loading again would cancel the way to another page
addEventListener("beforeunload", () => { leaving = true; setTimeout(() => { leaving = false; }, 15000); });
addEventListener("pageshow", () => { leaving = false; });
const look = async () => {
  let now = null;
  try {
    now = await (await fetch("/version" + location.pathname, {cache: "no-store"})).text();
    box.textContent = "";
  } catch (error) { if (!leaving) box.textContent = "simfl watch has ended"; }
  if (now !== null && now !== version && !leaving) {
    if (!touched()) { location.reload(); return; }
    if (!box.firstChild) {
      const button = document.createElement("button");
      button.textContent = "there is more: load it";
      button.addEventListener("click", () => location.reload());
      box.replaceChildren(button);
    }
  }
  setTimeout(look, 2000);
};
setTimeout(look, 2000);
})();
