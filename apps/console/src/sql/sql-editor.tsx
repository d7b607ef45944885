import { autocompletion, closeBrackets, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { PostgreSQL, sql } from "@codemirror/lang-sql";
import { HighlightStyle, bracketMatching, syntaxHighlighting } from "@codemirror/language";
import { Compartment, EditorState } from "@codemirror/state";
import { EditorView, drawSelection, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "react";

interface SqlEditorProps {
  readonly value: string;
  /** Columns by table, for completion. */
  readonly tables: Readonly<Record<string, readonly string[]>>;
  readonly onChange: (value: string) => void;
  readonly onRun: () => void;
}

const COLOURS = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--k-key)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--k-str)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--k-num)" },
  { tag: [tags.typeName, tags.standard(tags.name)], color: "var(--k-fn)" },
  { tag: tags.comment, color: "var(--k-com)" },
]);

/** In a window as narrow as a phone, long lines wrap. */
const NARROW = "(max-width: 640px)";

const LOOK = EditorView.theme({
  "&": { fontSize: "13px", color: "var(--text)", backgroundColor: "var(--surface)" },
  ".cm-scroller": {
    fontFamily: "var(--font-mono)",
    lineHeight: "22px",
    fontVariantLigatures: "none",
    maxHeight: "42vh",
    minHeight: "180px",
  },
  ".cm-content": { padding: "12px 0", caretColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--surface)", color: "var(--text-3)", border: "0", paddingLeft: "14px" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--sunken)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  "&.cm-focused": { outline: "none" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    background: "var(--selected) !important",
  },
  ".cm-tooltip": {
    backgroundColor: "var(--raised)",
    border: "1px solid var(--line-strong)",
    borderRadius: "6px",
    boxShadow: "var(--shadow-2)",
  },
  ".cm-tooltip-autocomplete > ul": { fontFamily: "var(--font-mono)", fontSize: "12px" },
  ".cm-tooltip-autocomplete > ul > li": { padding: "3px 8px", color: "var(--text)" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--selected)", color: "var(--text)" },
  ".cm-completionDetail": { color: "var(--text-3)", fontStyle: "normal" },
});

/**
 * An editor for one statement, with completion of tables and columns. The editor is in a shadow root, because elsewhere
 * it would add a style element to the page, which the content security policy forbids.
 */
export function SqlEditor({ value, tables, onChange, onRun }: SqlEditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<EditorView>(null);
  const language = useRef(new Compartment());
  const wrapping = useRef(new Compartment());
  const calls = useRef({ onChange, onRun });
  const first = useRef(value);
  useEffect(() => {
    calls.current = { onChange, onRun };
  });

  useEffect(() => {
    if (!host.current) return undefined;
    const root = host.current.shadowRoot ?? host.current.attachShadow({ mode: "open" });
    const run = (): boolean => {
      calls.current.onRun();
      return true;
    };
    const view = new EditorView({
      root,
      parent: root as unknown as Element,
      state: EditorState.create({
        doc: first.current,
        extensions: [
          lineNumbers(),
          history(),
          drawSelection(),
          highlightActiveLine(),
          bracketMatching(),
          closeBrackets(),
          autocompletion({ icons: false }),
          syntaxHighlighting(COLOURS),
          language.current.of(sql({ dialect: PostgreSQL, upperCaseKeywords: true })),
          wrapping.current.of([]),
          LOOK,
          EditorView.contentAttributes.of({ "aria-label": "Statement" }),
          EditorView.updateListener.of(
            (update) => update.docChanged && calls.current.onChange(update.state.doc.toString()),
          ),
          keymap.of([
            { key: "Mod-Enter", run },
            { key: "Escape", run: (one) => (one.contentDOM.blur(), true) },
            ...completionKeymap,
            ...historyKeymap,
            ...defaultKeymap,
            indentWithTab,
          ]),
        ],
      }),
    });
    editor.current = view;
    return () => view.destroy();
  }, []);

  useEffect(() => {
    const narrow = window.matchMedia(NARROW);
    const wrap = (): void =>
      editor.current?.dispatch({
        effects: wrapping.current.reconfigure(narrow.matches ? EditorView.lineWrapping : []),
      });
    wrap();
    narrow.addEventListener("change", wrap);
    return () => narrow.removeEventListener("change", wrap);
  }, []);

  useEffect(() => {
    const schema = Object.fromEntries(Object.entries(tables).map(([name, columns]) => [name, [...columns]]));
    editor.current?.dispatch({
      effects: language.current.reconfigure(sql({ dialect: PostgreSQL, schema, upperCaseKeywords: true })),
    });
  }, [tables]);

  useEffect(() => {
    const view = editor.current;
    if (view && view.state.doc.toString() !== value)
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: value } });
  }, [value]);

  return <div ref={host} className="ed" />;
}
