// @ts-check
// The step-through of a panel: the widget of the chapters, on a walk that this page has computed.

import { PageModel } from "../../widgets/page/model.js";
import { render } from "../../widgets/steps.js";

/** @typedef {import("../../widgets/steps.js").State} State */

/** Let the panel find what draws. */
export function layReady() {
  window.labSteps = (el, state) => {
    // A page's model knows its names at run time only.
    const model = /** @type {Model<State>} */ (/** @type {unknown} */ (new PageModel(state)));
    return render({ model, el });
  };
}
