// Tables that are sorted by a click on a column's head, and back by another.
function sorting(table, heads, head, column) {
  const value = row => {
    const {dataset: {sort}, textContent} = row.cells[column];
    return sort === undefined ? textContent.trim() : Number(sort.replace(/inf$/, "Infinity"));
  };
  const compare = (a, b) => {  // no number is more than any
    if (typeof a === "number" && typeof b === "number") return (isNaN(a) - isNaN(b)) || a - b;
    return String(a).localeCompare(String(b), "en", {numeric: true});
  };
  return () => {
    const down = head.getAttribute("aria-sort") === "ascending", way = down ? -1 : 1;
    heads.forEach(other => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const rows = [...table.tBodies[0].rows];
    table.tBodies[0].append(...rows.sort((a, b) => way * compare(value(a), value(b))));
  };
}
document.querySelectorAll("table").forEach(table => {
  const row = table.querySelector("tr.heads");
  if (!row || table.tBodies[0].rows.length < 2) return;
  const heads = [...row.cells];
  heads.forEach((head, column) => {
    const sorts = button({title: "sort"}, head.textContent);
    head.replaceChildren(sorts);
    sorts.addEventListener("click", sorting(table, heads, head, column));
  });
});
