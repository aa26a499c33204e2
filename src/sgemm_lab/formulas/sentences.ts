// The sentences of rules and widgets that Python and JavaScript both print.

import { sentencesOf } from "../text.ts";
import templates from "./sentences.json";

export const sentence = /* @__PURE__ */ sentencesOf(templates);
