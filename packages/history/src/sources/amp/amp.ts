/** Amp: one document per thread. Newer versions keep threads on a server, so the local files end at some date. */
import { basename, join } from "node:path";
import { arrayOf, numberOf, objectOf, stringOf, type Value } from "../../model/value.ts";
import { documentOf, entriesIn, originalPart, unitOf } from "../port/files.ts";
import type { TranslatedSource, Problem, Unit } from "../port/source.ts";
import type { Block, CallTokens, TranscriptWriter } from "../port/transcript-writer.ts";

const threadName = /^T-[0-9a-f-]+\.json$/;

export const amp: TranslatedSource = {
  name: "amp",
  reads: "translated",
  roots: ({ env, homes }) =>
    env["AMP_DATA_DIR"] ? [env["AMP_DATA_DIR"]] : homes.map((home) => join(home, ".local", "share", "amp")),
  owns: (path) => entriesIn(join(path, "threads")).some(({ name }) => threadName.test(name)),
  units(root) {
    const problems: Problem[] = [];
    const units = entriesIn(join(root, "threads"), problems).flatMap((entry) =>
      entry.isFile() && threadName.test(entry.name)
        ? [unitOf(root, join(root, "threads", entry.name), basename(entry.name, ".json"))]
        : [],
    );
    return { units, problems };
  },
  read: readThread,
  original: ({ path }, from) => originalPart(path, from),
};

function readThread(unit: Unit, writer: TranscriptWriter): void {
  const thread = documentOf(unit.path, writer);
  if (!thread) return;
  const [tree] = arrayOf(objectOf(objectOf(thread["env"])["initial"])["trees"]).map(objectOf);
  const branch = stringOf(objectOf(tree?.["repository"])["ref"])?.replace(/^refs\/heads\//, "");
  writer.place({ cwd: pathOf(stringOf(tree?.["uri"])), branch });
  const ledger = arrayOf(objectOf(thread["usageLedger"])["events"]).map(objectOf);
  const messages = arrayOf(thread["messages"]).map(objectOf);
  let time = numberOf(thread["created"]);
  for (const [at, message] of messages.entries()) {
    const usage = objectOf(message["usage"]);
    time = numberOf(objectOf(message["meta"])["sentAt"]) ?? timeOf(usage["timestamp"]) ?? time;
    const placed = { id: `${at}`, from: `messages/${at}`, at: time };
    const content = arrayOf(message["content"]).map(objectOf);
    if (message["role"] === "assistant") {
      // If the ledger exists, the tokens come from the ledger, because it has the charged tokens.
      const tokens = ledger.length > 0 ? undefined : tokensOf(usage);
      const call = `amp:${unit.id}:${String(message["messageId"])}`;
      writer.answer({ ...placed, call, model: stringOf(usage["model"]) ?? "", content, tokens });
    } else if (message["role"] === "user") writer.user(content.map(resultOf), placed);
    else writer.other(String(message["role"]), message, placed);
  }
  for (const [at, event] of ledger.entries())
    writeEvent(unit, { event, from: `usageLedger/events/${at}`, messages }, writer);
  writer.title(stringOf(thread["title"]), "title");
}

/** Returns the path in a URI. On Windows, the URI has a slash before the drive. */
function pathOf(uri: string | null): string | null {
  const path = uri?.replace(/^file:\/\//, "") ?? null;
  if (path === null) return null;
  try {
    return decodeURIComponent(path).replace(/^\/(?=[A-Za-z]:)/, "");
  } catch {
    return path;
  }
}

function timeOf(value: unknown): number | null {
  const time = Date.parse(stringOf(value) ?? "");
  return Number.isNaN(time) ? null : time;
}

function resultOf(block: Value): Block {
  if (block["type"] !== "tool_result") return block;
  const run = objectOf(block["run"]);
  const result = objectOf(run["result"]);
  const content = stringOf(result["output"]) ?? stringOf(run["result"]) ?? JSON.stringify(run["result"] ?? "");
  const isError = run["status"] === "error";
  return { type: "tool_result", tool_use_id: block["toolUseID"], content, ...(isError && { is_error: true }) };
}

function tokensOf(usage: Value): CallTokens | undefined {
  const of = (key: string): number => numberOf(usage[key]) ?? 0;
  const tokens = {
    input: of("inputTokens"),
    output: of("outputTokens"),
    cacheWrite: of("cacheCreationInputTokens"),
    cacheRead: of("cacheReadInputTokens"),
  };
  return tokens.input + tokens.output + tokens.cacheRead + tokens.cacheWrite > 0 ? tokens : undefined;
}

interface LedgerEvent {
  readonly event: Value;
  readonly from: string;
  readonly messages: readonly Value[];
}

/**
 * Writes the usage of a ledger event. The cache tokens come from the event's message, because the event has no such
 * tokens.
 */
function writeEvent(unit: Unit, { event, from, messages }: LedgerEvent, writer: TranscriptWriter): void {
  const { input, output } = objectOf(event["tokens"]);
  const message = messages.find(({ messageId }) => messageId === event["toMessageId"]);
  const cache = tokensOf(objectOf(message?.["usage"]));
  const tokens = {
    input: numberOf(input) ?? 0,
    output: numberOf(output) ?? 0,
    cacheRead: cache?.cacheRead ?? 0,
    cacheWrite: cache?.cacheWrite ?? 0,
  };
  const call = `amp:${unit.id}:${String(event["id"])}`;
  writer.usage(call, stringOf(event["model"]) ?? "", tokens, { at: stringOf(event["timestamp"]), from });
}
