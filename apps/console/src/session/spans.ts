import { visibleLine } from "../text/safe-text.ts";
import { callWords } from "./call-words.ts";
import { type Call, type SessionView, endOfStep, stepLabel, stepName } from "./view.ts";

/**
 * A piece of the timeline. `from` and `to` are milliseconds from the beginning of the timeline, in which long pauses
 * are shortened.
 */
export interface Span {
  readonly key: string;
  readonly kind: "model" | "tool" | "failed" | "unknown" | "wait" | "sub";
  readonly lane: string;
  readonly from: number;
  readonly to: number;
  readonly sequence: number;
  /** When the piece began, in milliseconds since 1970. */
  readonly at: number;
  readonly title: string;
  /** The number of a step, or the sign of a failed or unknown call. Shown if the piece is wide enough. */
  readonly label: string;
}

interface Gaps {
  /** Returns the position of a moment on the timeline. */
  readonly place: (at: number) => number;
  /** Places at which a pause was shortened. */
  readonly breaks: readonly number[];
}

export interface Spans {
  readonly spans: readonly Span[];
  readonly lanes: readonly string[];
  readonly gaps: Gaps;
}

/**
 * A pause between runs is often hours long. A pause of more than 15 times `SILENCE_MS` is drawn as long as
 * `SILENCE_MS`.
 */
const SILENCE_MS = 4000;

interface Raw extends Omit<Span, "from" | "to" | "at"> {
  readonly begin: number;
  readonly end: number;
}

/** Returns the pieces of a session's timeline. Pieces in progress end at `now`. */
export function spansOf(view: SessionView, now: number | undefined): Spans {
  const raw: Raw[] = [];
  for (const step of view.steps) {
    if (step.purpose === "copied") continue;
    const end = endOfStep(step) ?? (step.state === "running" ? now : undefined) ?? step.at;
    raw.push({
      key: step.key,
      kind: step.state === "failed" ? "failed" : "model",
      lane: "Main",
      begin: step.at,
      end,
      sequence: step.sequence,
      title: stepName(step),
      label: stepLabel(step),
    });
    for (const call of step.calls) raw.push(...spansOfCall(call, now));
  }
  raw.sort((one, other) => one.begin - other.begin);
  const gaps = gapsOf(raw);
  const lanes = [
    "Main",
    ...new Set(raw.map(({ lane }) => lane).filter((lane) => lane !== "Main" && lane !== "Waits")),
  ].slice(0, 5);
  if (raw.some(({ lane }) => lane === "Waits")) lanes.push("Waits");
  const spans = raw
    .filter(({ lane }) => lanes.includes(lane))
    .map(({ begin, end, ...span }) => ({
      ...span,
      at: begin,
      from: gaps.place(begin),
      to: Math.max(gaps.place(end), gaps.place(begin)),
    }));
  return { spans, lanes, gaps };
}

const KINDS: Readonly<Partial<Record<Call["state"], Span["kind"]>>> = { failed: "failed", unknown: "unknown" };

const LABELS: Readonly<Partial<Record<Call["state"], string>>> = { failed: "×", unknown: "?" };

const ENDS: Readonly<Partial<Record<Call["state"], string>>> = { denied: " (denied)", cancelled: " (cancelled)" };

function spansOfCall(call: Call, now: number | undefined): readonly Raw[] {
  if (call.startedAt === null) return [];
  const { name, about } = callWords(call.name, call.input);
  const base = {
    sequence: call.startedSequence ?? call.wait?.sequence ?? call.step.sequence,
    title: `${name} ${about}`.slice(0, 120) + (ENDS[call.state] ?? ""),
    label: LABELS[call.state] ?? "",
  };
  const found: Raw[] = [];
  if (call.wait && call.wait.kind !== "subagent") {
    const end = call.wait.closedAt ?? now ?? call.wait.openedAt;
    found.push({ ...base, key: `w${call.id}`, kind: "wait", lane: "Waits", begin: call.wait.openedAt, end });
    if (call.startedSequence === null) return found;
  }
  const end = call.endedAt ?? now ?? call.startedAt;
  const lane = call.childSession === null ? "Main" : visibleLine(call.name);
  const kind = KINDS[call.state] ?? (call.childSession === null ? "tool" : "sub");
  return [...found, { ...base, key: `c${call.id}`, kind, lane, begin: call.startedAt, end }];
}

/** Shortens the pauses between pieces that are far apart. */
function gapsOf(raw: readonly Raw[]): Gaps {
  const [first] = raw;
  if (!first) return { place: () => 0, breaks: [] };
  const cuts: { at: number; left: number }[] = [];
  const breaks: number[] = [];
  let end = first.begin;
  let left = first.begin;
  for (const span of raw) {
    if (span.begin - end > SILENCE_MS * 15) {
      const silence = span.begin - end - SILENCE_MS;
      breaks.push(end - left + SILENCE_MS / 2);
      left += silence;
      cuts.push({ at: span.begin, left });
    }
    end = Math.max(end, span.end);
  }
  return { breaks, place: (at) => Math.max(0, at - (cuts.findLast((cut) => cut.at <= at)?.left ?? first.begin)) };
}
