// What the judge says, in Python and in JavaScript.

import { sentencesOf } from "../text.ts";
import templates from "./sentences.json";

export const sentence = /* @__PURE__ */ sentencesOf(templates);
