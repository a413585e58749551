// Steps through a drawing whose groups have data-step: later steps are hidden until they are reached.
// Without scripts everything is shown.
for (const box of document.querySelectorAll("[data-steps]")) {
  const groups = [...box.querySelectorAll("[data-step]")];
  const last = Math.max(...groups.map((group) => Number(group.dataset.step)));
  const controls = box.querySelector(".controls");
  const slider = controls.querySelector("input");
  const said = controls.querySelector("output");
  const texts = JSON.parse(box.dataset.steps);
  const show = (step) => {
    const now = Math.min(last, Math.max(0, step));
    slider.value = now;
    for (const group of groups) group.style.display = Number(group.dataset.step) <= now ? "" : "none";
    said.textContent = texts[now];
  };
  slider.max = last;
  slider.addEventListener("input", () => show(Number(slider.value)));
  const [back, on] = controls.querySelectorAll("button");
  back.addEventListener("click", () => show(Number(slider.value) - 1));
  on.addEventListener("click", () => show(Number(slider.value) + 1));
  controls.hidden = false;
  show(last);
}
