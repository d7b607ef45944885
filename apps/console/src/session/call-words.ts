import { textValue, visibleLine } from "../text/safe-text.ts";
import type { IconName } from "../ui/icon.tsx";
import type { CallState } from "./view.ts";
import type { State } from "../ui/state.ts";

/** A call in one line: its icon, its name, and its most important input. */
export interface CallWords {
  readonly icon: IconName;
  readonly name: string;
  readonly about: string;
}

const ICONS: Readonly<Record<string, IconName>> = {
  Bash: "term",
  Edit: "edit",
  MultiEdit: "edit",
  Write: "file",
  Read: "file",
  NotebookEdit: "edit",
  Glob: "search",
  Grep: "search",
  WebFetch: "globe",
  WebSearch: "globe",
  web_search: "globe",
  Task: "agents",
  Agent: "agents",
  AskUserQuestion: "ask",
  TodoWrite: "sessions",
};

/** The names of inputs that describe a call. Better descriptions come first. */
const TELLING = [
  "command",
  "file_path",
  "pattern",
  "path",
  "notebook_path",
  "query",
  "url",
  "description",
  "prompt",
  "task",
  "question",
  "name",
  "id",
];

export function callWords(name: string, input: unknown): CallWords {
  return { icon: ICONS[name] ?? "tool", name: visibleLine(name), about: visibleLine(aboutOf(input)).slice(0, 300) };
}

function aboutOf(input: unknown): string {
  if (typeof input !== "object" || input === null) return typeof input === "string" ? input : "";
  const values = input as Record<string, unknown>;
  const questions = values["questions"];
  if (Array.isArray(questions)) return textValue((questions[0] as Record<string, unknown> | undefined)?.["question"]);
  for (const key of TELLING) if (typeof values[key] === "string" && values[key] !== "") return values[key];
  const first = Object.values(values).find((value) => ["string", "number", "boolean"].includes(typeof value));
  return first === undefined ? "" : textValue(first, JSON.stringify(first));
}

const STATES: Readonly<Record<CallState, State>> = {
  running: "running",
  waiting: "waiting",
  done: "done",
  failed: "failed",
  unknown: "unknown",
  asked: "queued",
  denied: "cancelled",
  cancelled: "cancelled",
};

/** The state that the sign of a call shows, with its word if it differs from the word of the state. */
export function markOfCall(state: CallState): { readonly state: State; readonly word?: string } {
  return { state: STATES[state], ...(state === "denied" && { word: "Denied" }) };
}

/** Returns for example "2 failed, 1 denied", without the states that no call has. */
export function troubleWords(calls: Iterable<{ readonly state: CallState }>, among: readonly CallState[]): string {
  const states = [...calls].map(({ state }) => state);
  return among
    .map((wanted) => [states.filter((state) => state === wanted).length, wanted] as const)
    .flatMap(([count, state]) => (count === 0 ? [] : [`${count} ${state}`]))
    .join(", ");
}
