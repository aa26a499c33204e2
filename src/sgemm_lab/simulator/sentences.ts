// The sentences of the simulator.

import { sentencesOf } from "../text.ts";
import templates from "./sentences.json";

export const sentence = /* @__PURE__ */ sentencesOf(templates);
