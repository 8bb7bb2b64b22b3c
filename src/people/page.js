"use strict";
const { questions, served } = JSON.parse(document.getElementById("data").textContent);
const at = (id) => document.getElementById(id);
const random = (limit) => {
  // Below a multiple of the limit, so that every outcome is as likely.
  const most = Math.floor(2 ** 32 / limit) * limit;
  for (;;) {
    const [drawn] = crypto.getRandomValues(new Uint32Array(1));
    if (drawn < most) return drawn % limit;
  }
};
const fresh = () => {
  const order = questions.map((_, place) => place);
  for (let last = order.length - 1; last > 0; last -= 1) {
    const other = random(last + 1);
    [order[last], order[other]] = [order[other], order[last]];
  }
  const person = [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return { person, order, sides: questions.map(() => (random(2) ? "high" : "low")), place: 0, lines: [] };
};
// A reload goes on where it was; it asks nothing anew.
const saved = sessionStorage.getItem("wheel-people");
const state = saved ? JSON.parse(saved) : fresh();
const save = () => sessionStorage.setItem("wheel-people", JSON.stringify(state));
const show = () => {
  at("start").hidden = true;
  const done = state.place >= state.order.length;
  at("question").hidden = done;
  at("end").hidden = !done;
  if (done) {
    at("said").textContent = `All ${questions.length} answers are given.`;
    at("keep").hidden = served;
    if (!served) {
      at("file").href = "data:application/jsonl;charset=utf-8," + encodeURIComponent(state.lines.map((line) => JSON.stringify(line) + "\n").join(""));
    }
    return;
  }
  const number = state.order[state.place];
  const [comparison, estimate] = questions[number][state.sides[number]];
  at("place").textContent = `Question ${state.place + 1} of ${questions.length}`;
  at("progress").value = state.place;
  at("comparison").textContent = comparison;
  at("estimate").textContent = estimate;
  at("question").reset();
  at("wrong").textContent = "";
};
at("begin").addEventListener("click", () => { save(); show(); });
let busy = false;
at("question").addEventListener("submit", async (event) => {
  event.preventDefault();
  if (busy) return;
  const form = new FormData(at("question"));
  const number = state.order[state.place];
  const line = { person: state.person, item: questions[number].item, condition: state.sides[number], comparison: form.get("side"), answer: form.get("answer").trim() };
  // The server reads more notations; a saved file cannot be asked again.
  if (!(served ? /[0-9]/ : /^[0-9][0-9., ]*( (thousand|million|billion|trillion))?$/i).test(line.answer)) {
    at("wrong").textContent = "Please write one number, such as 1500 or 2.5 million.";
    return;
  }
  if (served) {
    busy = true;
    try {
      const reply = await fetch("answer", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(line) });
      // An answer that arrived before a reload counts.
      if (!reply.ok && reply.status !== 409) {
        at("wrong").textContent = await reply.text();
        return;
      }
    } catch {
      at("wrong").textContent = "The answer could not be kept. Is the program still running? Please try again.";
      return;
    } finally {
      busy = false;
    }
  }
  state.lines.push(line);
  state.place += 1;
  save();
  show();
  at("answer").blur();
});
if (saved) show();
