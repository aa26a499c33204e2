// Where code is typed: CodeMirror, with the marks and the colours of the book. esbuild joins it into
// one script, which comes when the reader turns to an editor; until then there is a text area.

import { defaultKeymap, history, historyKeymap, isolateHistory } from "@codemirror/commands";
import { cppLanguage } from "@codemirror/lang-cpp";
import {
  bracketMatching,
  indentOnInput,
  indentUnit,
  syntaxHighlighting,
} from "@codemirror/language";
import type { StateEffectType, Text } from "@codemirror/state";
import {
  Annotation,
  Compartment,
  EditorState,
  RangeSetBuilder,
  StateEffect,
  StateField,
} from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, keymap, lineNumbers } from "@codemirror/view";
import { tagHighlighter, tags } from "@lezer/highlight";

/** For each line the classes of its mark, "" where it has none. */
type Marks = string[];

/** What holds the text; a text area is one that draws nothing. */
export interface Field {
  value: string;
  readOnly: boolean;
  focus: () => void;
  draw: (marks: Marks) => void;
  /** Bring a line, by its index, to the middle. The page stays. */
  reveal: (line: number) => void;
  /** those that the reader should know of, in words */
  keys: string;
}

/** Called when the reader edits or runs. */
export interface Callbacks {
  edited: () => void;
  run: () => void;
}

/** The classes that the book's listings have, so that the same words have the same colours. */
const COLOURS = tagHighlighter([
  { tag: [tags.keyword, tags.modifier, tags.operatorKeyword], class: "k" },
  { tag: [tags.typeName, tags.standard(tags.typeName)], class: "kt" },
  { tag: [tags.comment], class: "c1" },
  { tag: [tags.number, tags.bool], class: "mi" },
  { tag: [tags.string, tags.character], class: "s" },
  { tag: [tags.processingInstruction, tags.meta], class: "cp" },
  { tag: [tags.operator, tags.derefOperator], class: "o" },
  { tag: [tags.punctuation, tags.bracket, tags.separator], class: "p" },
  { tag: [tags.function(tags.variableName)], class: "nf" },
  { tag: [tags.name], class: "n" },
]);

const marking: StateEffectType<Marks> = StateEffect.define();

const CONTROL = /Mac|iP(hone|ad)/.test(navigator.platform) ? "Cmd" : "Ctrl";
const KEYS =
  `${CONTROL}+Enter runs it, ${CONTROL}+/ makes lines comments, ${CONTROL}+Z undoes. ` +
  "Tab leaves the editor.";

/** How scripts find it, and checkers see that the keyboard reaches what scrolls. */
const NAMED = { "data-lab": "editor", tabindex: "0" };

/** On a change that is not the reader's. */
const ours = Annotation.define();

/** The marks on whole lines. They move with the text until the next ones are drawn. */
const marks = StateField.define({
  create: () => Decoration.none,
  update(drawn, { changes, effects, state }) {
    const effect = effects.find((one) => one.is(marking));
    return effect ? drawnMarks(state.doc, effect.value) : drawn.map(changes);
  },
  provide: (field) => EditorView.decorations.from(field),
});

function drawnMarks(text: Text, kinds: Marks) {
  const builder = new RangeSetBuilder();
  for (const [index, line] of kinds.entries()) {
    const { from } = text.line(index + 1);
    if (line) builder.add(from, from, Decoration.line({ class: line }));
  }
  return builder.finish() as DecorationSet;
}

/**
 * Put an editor into an element, in place of a text area.
 * @param area its text and selection are taken over, and its focus
 * @param above lines of the file that stand before the first one
 * @param callbacks called when the reader edits or runs
 */
export function codeField(
  into: HTMLElement,
  area: HTMLTextAreaElement,
  above: number,
  callbacks: Callbacks,
): Field {
  const reading = new Compartment();
  const runs = () => {
    callbacks.run();
    return true;
  };
  const name = area.getAttribute("aria-label") ?? "";
  const focused = document.activeElement === area;
  const [anchor, head] =
    area.selectionDirection === "backward"
      ? [area.selectionEnd, area.selectionStart]
      : [area.selectionStart, area.selectionEnd];
  const view = new EditorView({
    state: EditorState.create({
      doc: area.value,
      selection: { anchor, head },
      extensions: [
        // Tab is not among the keys: it goes on to what comes next, as everywhere on the page.
        keymap.of([{ key: "Mod-Enter", run: runs }, ...defaultKeymap, ...historyKeymap]),
        [history(), cppLanguage, indentUnit.of("    "), indentOnInput(), bracketMatching()],
        [lineNumbers({ formatNumber: (line) => String(line + above) }), marks],
        syntaxHighlighting(COLOURS),
        reading.of(EditorState.readOnly.of(area.readOnly)),
        EditorView.contentAttributes.of({ ...NAMED, "aria-label": name }),
        EditorView.updateListener.of(({ docChanged, transactions }) => {
          if (docChanged && !transactions.some((one) => one.annotation(ours))) callbacks.edited();
        }),
      ],
    }),
  });
  const { scrollTop, scrollLeft } = into;
  into.replaceChildren(view.dom);
  view.scrollDOM.scrollTo(scrollLeft, scrollTop);
  if (focused) view.contentDOM.focus({ preventScroll: true });
  return {
    get value() {
      return view.state.doc.toString();
    },
    set value(text) {
      const changes = { from: 0, to: view.state.doc.length, insert: text };
      // A step of its own, so that Reset can be undone.
      view.dispatch({ changes, annotations: [ours.of(true), isolateHistory.of("full")] });
    },
    set readOnly(value: boolean) {
      view.dispatch({ effects: reading.reconfigure(EditorState.readOnly.of(value)) });
    },
    focus: () => view.focus(),
    keys: KEYS,
    draw: (kinds) => view.dispatch({ effects: marking.of(kinds) }),
    reveal(line) {
      const { top } = view.lineBlockAt(view.state.doc.line(line + 1).from);
      view.scrollDOM.scrollTo({ top: top - view.scrollDOM.clientHeight / 2 });
    },
  };
}

window.labCodeField = codeField;
