"use strict";
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (row) => {
        const cell = row.cells[column];
        return cell.dataset.sort === undefined ? null : Number(cell.dataset.sort);
      };
      const text = (row) => row.cells[column].textContent.trim();
      const rows = [...table.tBodies[0].rows];
      rows.sort((a, b) => {
        const [x, y] = [key(a), key(b)];
        // What has no number stands last either way.
        if (x === null || y === null) {
          if (x !== y) return x === null ? 1 : -1;
          const order = text(a).localeCompare(text(b), "en", { numeric: true });
          return down ? -order : order;
        }
        return down ? y - x : x - y;
      });
      table.tBodies[0].append(...rows);
    });
  });
}
const filter = document.getElementById("filter");
if (filter) {
  const count = document.getElementById("count");
  const apply = () => {
    const wanted = filter.value.trim().toLowerCase();
    let shown = 0, all = 0;
    for (const row of document.querySelectorAll("[data-row]")) {
      const fits = row.dataset.row.toLowerCase().includes(wanted);
      row.toggleAttribute("hidden", !fits);
      if (row.dataset.counts !== undefined) {
        all += 1;
        shown += fits ? 1 : 0;
      }
    }
    count.textContent = wanted ? `${shown} of ${all} shown` : "";
  };
  filter.addEventListener("input", apply);
  apply();
}
