// The step-through of a panel: the widget of the chapters, on a trace that this page has computed.

import { PageModel } from "../../widgets/page/model.ts";
import type { State } from "../../widgets/steps.ts";
import { render } from "../../widgets/steps.ts";

/** Let the panel find what draws. */
export function layReady() {
  window.labSteps = (el, state) => {
    // A page's model knows its names at run time only.
    const model = new PageModel(state) as unknown as Model<State>;
    return render({ model, el });
  };
}
