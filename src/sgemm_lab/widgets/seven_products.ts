// Strassen's seven products, one after the other: quadrants of A and B that each is made of, and
// the quadrants of C that it goes to.

import "./seven_products.css";
import { choiceSlider } from "./shared/controls.ts";
import { button, html, say } from "./shared/dom.ts";
import { keepDrawn, put, tool } from "./shared/model.ts";
import { range } from "./shared/scale.ts";

type Signed = [place: string, sign: number];

interface SignedProduct {
  name: string;
  left: Signed[];
  right: Signed[];
  into: Signed[];
  words: string;
}

interface State {
  products: SignedProduct[];
  step: number;
}

const QUADRANTS = ["11", "12", "21", "22"];

export function render({ model, el }: View<State>) {
  const go = (step: number) => {
    if (step < 1 || step > model.get("products").length) return;
    put(model, "step", step);
  };
  const slider = choiceSlider("Product", go);
  const back = button("◀", () => go(model.get("step") - 1), "Back");
  const next = button("▶", () => go(model.get("step") + 1), "Next");
  const controls = html(
    "div",
    { class: "lab-controls" },
    slider.element,
    html("div", { class: "lab-moves" }, back, next),
  );
  const squares = ["A", "B", "C"].map(square);
  const signs = ["·", "→"].map((sign) => html("span", { "aria-hidden": "true" }, sign));
  const picture = html(
    "div",
    { class: "lab-squares" },
    [squares[0].element, signs[0]],
    [squares[1].element, signs[1], squares[2].element],
  );
  const verdict = html("div", { class: "lab-verdict", role: "status" }, html("p"));
  const root = tool(el, "lab-seven", controls, picture, verdict);

  function update() {
    const [products, step] = [model.get("products"), model.get("step")];
    const now = products[step - 1];
    slider.show(step, range(1, products.length, 1), `${now.name}, ${step} of ${products.length}`);
    const made = products.slice(0, step);
    squares[0].show(now.left, []);
    squares[1].show(now.right, []);
    squares[2].show(now.into, made);
    back.disabled = step === 1;
    next.disabled = step === products.length;
    say(verdict.children, [now.words]);
  }
  return keepDrawn(model, ["products", "step"], root, update);
}

/** A matrix as four quadrants. */
function square(matrix: string) {
  const cells = QUADRANTS.map((place) => {
    const sign = html("span", { class: "lab-sign" });
    const parts = html("span", { class: "lab-parts" });
    const name = html("span", { class: "lab-name" }, matrix + place);
    const element = html("div", { class: "lab-quadrant" }, name, matrix === "C" ? parts : sign);
    return { name: matrix + place, element, sign, parts };
  });
  return {
    element: html(
      "div",
      { class: "lab-square", role: "group", "aria-label": `Quadrants of ${matrix}` },
      cells.map(({ element }) => element),
    ),
    /**
     * @param terms of the present product
     * @param made products that are in C, the present one last
     */
    show(terms: Signed[], made: SignedProduct[]) {
      const signs = new Map(terms);
      for (const { name, element, sign, parts } of cells) {
        const now = signs.get(name) ?? 0;
        element.dataset.sign = `${now}`;
        sign.textContent = now ? written(now) : "";
        parts.replaceChildren(...partsOf(name, made));
      }
    },
  };
}

/** The products that a quadrant of C has so far. */
function partsOf(name: string, made: SignedProduct[]) {
  return made.flatMap((one, i) =>
    one.into
      .filter(([place]) => place === name)
      .map(([, sign]) =>
        html(
          "span",
          { class: i === made.length - 1 ? "lab-part lab-new" : "lab-part" },
          written(sign) + one.name,
        ),
      ),
  );
}

function written(sign: number) {
  return sign > 0 ? "+" : "−";
}
