// Links to what the reader has in view: a prediction or an exercise, a panel with the edited kernel, a
// picture with its settings. Each has a button that copies its link, and puts it into the address bar,
// which is all that a page may do that was opened as a file.

import type { Place } from "../../widgets/page/draw.ts";
import { packed, unpacked } from "../packing.ts";

const STATE = 'script[type="application/vnd.sgemm-lab.page-widgets+json"]';
const PICTURE = /^#picture=(\d+):([\w-]*)$/;
const EDIT = /^#edit=/;

type State = Record<string, unknown>;

const pictures = (): NodeListOf<Place> => document.querySelectorAll(".lab-widget");

/** The state of a picture as the page was made with. */
function madeWith(place: Place): State {
  const page = JSON.parse(document.querySelector(STATE)?.textContent ?? "{}");
  return page[place.dataset.modelId ?? ""].state;
}

/** Whether a link may set a value: a number, a word, a switch, or numbers, in place of its like. */
function isSetting(made: unknown, value: unknown) {
  if (Array.isArray(made) && Array.isArray(value)) {
    return [...made, ...value].every((one) => typeof one === "number");
  }
  return typeof made !== "object" && typeof made === typeof value;
}

/** The link of a picture: its place on the page, and the settings that the reader has changed. */
async function pictureLink(place: Place) {
  const now = (name: string) => place.labDrawn?.model.get(name);
  const changed = Object.entries(madeWith(place)).filter(
    ([name, made]) =>
      isSetting(made, now(name)) && JSON.stringify(made) !== JSON.stringify(now(name)),
  );
  const settings = Object.fromEntries(changed.map(([name]) => [name, now(name)]));
  return `#picture=${[...pictures()].indexOf(place)}:${await packed(JSON.stringify(settings))}`;
}

/** Show the picture that the page's address names, with the settings that it holds. */
async function follow() {
  const match = PICTURE.exec(location.hash);
  const place = match && pictures()[Number(match[1])];
  if (!match || !place) return;
  await window.labDrawWidgets?.([place]);
  const model = place.labDrawn?.model;
  if (!model) return;
  const made = madeWith(place);
  try {
    const settings: State = Object(JSON.parse(await unpacked(match[2])));
    for (const [name, value] of Object.entries(settings)) {
      if (name in made && isSetting(made[name], value)) model.set(name, value);
    }
  } catch {
    // A link that was cut short on its way still leads to the picture.
  }
  for (
    let fold = place.closest("details");
    fold;
    fold = fold.parentElement?.closest("details") ?? null
  )
    fold.open = true;
  place.scrollIntoView({ block: "center" });
}

/** @param link the fragment of the address */
function linkButton(link: () => string | Promise<string>) {
  const button = document.createElement("button");
  Object.assign(button, { type: "button", className: "lab-link", textContent: "Copy link" });
  button.addEventListener("click", async (event) => {
    event.stopPropagation(); // to a panel that waits for a press to come alive
    const address = location.href.replace(/#.*$/, "") + (await link());
    history.replaceState(null, "", address);
    try {
      await navigator.clipboard.writeText(address);
      button.textContent = "Copied";
    } catch {
      button.textContent = "It is in the address bar";
    }
    setTimeout(() => {
      button.textContent = "Copy link";
    }, 2000);
  });
  return button;
}

for (const box of document.querySelectorAll('[data-lab="prediction"], [data-lab="exercise"]')) {
  box.prepend(linkButton(() => `#${box.id}`));
}
for (const panel of document.querySelectorAll('[data-lab="panel"]')) {
  const link = () => (EDIT.test(location.hash) ? location.hash : `#${panel.id}`);
  panel.querySelector(".lab-bench-bar")?.append(linkButton(link));
}
for (const place of pictures()) {
  place.querySelector(".lab-widget-live")?.after(linkButton(() => pictureLink(place)));
}
addEventListener("load", follow);
addEventListener("hashchange", follow);
