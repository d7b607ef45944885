import { type ContentBlock, addUsage, earlierPrice, isToolUse, priceCall, textOf } from "@skein/protocol";
import type { HistoryMessage } from "../api/api.ts";
import { addCall, completeFromResult } from "../session/fold-calls.ts";
import { newStep } from "../session/fold-steps.ts";
import { type Mark, type SessionView, type Step, emptyView } from "../session/view.ts";

/**
 * Converts the messages of a coding agent's transcript to the view of a session. Positions in the file are used as
 * sequences.
 */
export function viewOfMessages(
  messages: readonly HistoryMessage[],
  { withRewound, agent }: { readonly withRewound: boolean; readonly agent: string },
): SessionView {
  const view = emptyView();
  const fold = { view, agent, prompts: 0, steps: 0 };
  let rewound = 0;
  for (const message of messages) {
    view.sequence = message.offset;
    if (message.is_rewound && !withRewound) {
      rewound += 1;
      continue;
    }
    if (rewound > 0) mark(view, message, { about: "rewound", text: rewoundWords(rewound) });
    rewound = 0;
    add(fold, message);
  }
  view.version = messages.length;
  return view;
}

interface Fold {
  readonly view: SessionView;
  /** The agent's name for people. */
  readonly agent: string;
  prompts: number;
  steps: number;
}

function add(fold: Fold, message: HistoryMessage): void {
  const { view } = fold;
  if (message.role === "assistant") return answer(fold, message);
  if (message.role === "user") {
    const results = message.content.filter(({ type }) => type === "tool_result");
    for (const result of results) completeFromResult(view, placeOf(message), result as ContentBlock);
    const rest = message.content.filter(({ type }) => type !== "tool_result") as ContentBlock[];
    if (message.prompt !== null) return prompt(fold, message, rest);
    const note = textOf(rest).trim();
    if (note !== "")
      mark(view, message, { about: "note", text: `${fold.agent} added a text for the model`, detail: note });
    return;
  }
  if (message.prompt !== null) return prompt(fold, message, [{ type: "text", text: message.prompt }]);
  if (message.subtype === "compact_boundary")
    mark(view, message, { about: "compacted", text: "Compacted: the model no longer saw the messages above" });
}

function prompt(fold: Fold, message: HistoryMessage, content: ContentBlock[]): void {
  fold.prompts += 1;
  fold.steps = 0;
  fold.view.items.push({
    ...placeOf(message),
    kind: "prompt",
    messageId: message.id,
    content,
    mode: "queue",
    isCopied: false,
    checkpointId: null,
  });
}

function answer(fold: Fold, message: HistoryMessage): void {
  const { view } = fold;
  const blocks = message.content as ContentBlock[];
  const last = view.steps.at(-1);
  // Claude Code writes one answer in several lines, which may be on two pages.
  const isSame = message.message_id !== null && last?.messageId === message.message_id;
  const step = isSame && last ? last : begin(fold, message);
  step.content = [...step.content, ...blocks];
  for (const block of blocks) if (isToolUse(block)) addCall(view, step, block);
  if (!isSame) spend(view, step, message);
}

function begin(fold: Fold, message: HistoryMessage): Step {
  fold.steps += 1;
  const step = newStep(placeOf(message), {
    runId: `prompt-${fold.prompts}`,
    run: 0,
    number: fold.steps,
    purpose: "step",
    model: message.model ?? "",
  });
  step.state = "done";
  step.messageId = message.message_id;
  step.stopReason = message.stop_reason;
  step.generatedAt = step.at;
  fold.view.items.push(step);
  fold.view.steps.push(step);
  return step;
}

function spend(view: SessionView, step: Step, { usage, model }: HistoryMessage): void {
  if (!usage) return;
  step.usage = usage;
  step.cost = priceCall(model ?? "", usage, earlierPrice(model ?? "", step.at)) ?? null;
  Object.assign(view.totals, addUsage(view.totals, step.usage));
  if (step.cost) view.costMicros += step.cost.total_micros;
  else view.unpricedCalls += 1;
}

interface NewMark {
  /**
   * Part of the mark's key, because a message may have several marks. The text is not in the key, because the agent's
   * name in it is loaded later.
   */
  readonly about: "rewound" | "note" | "compacted";
  readonly text: string;
  readonly detail?: string | null;
}

function mark(view: SessionView, message: HistoryMessage, { about, text, detail = null }: NewMark): void {
  const item: Mark = { ...placeOf(message), kind: "mark", tone: "plain", text, detail };
  view.items.push({ ...item, key: `${item.key}-${about}` });
}

function placeOf({ offset, created_at, is_rewound }: HistoryMessage) {
  return { key: `o${offset}`, version: is_rewound ? 1 : 0, sequence: offset, at: Date.parse(created_at) };
}

function rewoundWords(count: number): string {
  return count === 1 ? "One message was rewound here" : `${count} messages were rewound here`;
}
