import { createRandom, type Random } from "./random.ts";
import { prose, toolOutput } from "./prose.ts";

/**
 * Writes the lines of a generated session. `parentUuid` is the parent of the next line, and `time` is the time of the
 * last line.
 */
export interface SessionWriter {
  readonly sessionId: string;
  readonly cwd: string;
  readonly agentId: string | undefined;
  readonly topics: readonly string[];
  parentUuid: string | null;
  time: number;
  write(value: Readonly<Record<string, unknown>>): void;
}

const models = ["claude-opus-4-5-20251101", "claude-sonnet-4-5-20250929", "claude-haiku-4-5-20251001", "claude-opus-5"];
const tools = ["Bash", "Read", "Edit", "Grep"];

/** Writes a prompt, answers with tool results, and other lines. Each kind occurs about as often as in real files. */
export function writeTurn(random: Random, session: SessionWriter): void {
  const prompt = prose(random, spread(random, 12, 1), session.topics);
  const isMain = session.agentId === undefined;
  if (isMain && random.next() < 0.2) session.write({ type: "file-history-snapshot", ...snapshotOf(random) });
  chain(random, session, { type: "user", message: { role: "user", content: prompt }, promptSource: "typed" });
  if (random.next() < 0.2) writeHook(random, session);
  if (random.next() < 0.006) writeImage(random, session);
  const steps = 1 + Math.min(40, spread(random, 4, 0.9));
  const model = random.pick(models);
  for (let step = 0; step < steps; step += 1) writeStep(random, session, model, step < steps - 1);
  if (!isMain) return;
  if (random.next() < 0.7)
    chain(random, session, { type: "system", subtype: "turn_duration", durationMs: random.integer(90_000) });
  if (random.next() < 0.3) writeMetadata(session, prompt);
}

/** Returns a number that is usually near `median`, and sometimes many times larger. */
export function spread(random: Random, median: number, sigma: number): number {
  const normal = Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
  return Math.max(1, Math.round(median * Math.exp(sigma * normal)));
}

/** Writes lines that Claude Code repeats after turns. Only the last line of each type counts. */
function writeMetadata(session: SessionWriter, prompt: string): void {
  const { sessionId } = session;
  session.write({ type: "last-prompt", lastPrompt: prompt.slice(0, 200), leafUuid: session.parentUuid, sessionId });
  session.write({ type: "ai-title", aiTitle: prompt.slice(0, 40), sessionId });
  session.write({ type: "permission-mode", permissionMode: "default", sessionId });
}

function snapshotOf(random: Random): Fields {
  const messageId = random.uuid();
  const timestamp = new Date(Date.UTC(2026, 9, 1)).toISOString();
  return { messageId, snapshot: { messageId, trackedFileBackups: {}, timestamp }, isSnapshotUpdate: false };
}

function writeHook(random: Random, session: SessionWriter): void {
  const attachment = {
    type: "hook_success",
    hookName: "PostToolUse:Edit",
    content: prose(random, 40, []),
    exitCode: 0,
  };
  chain(random, session, { type: "attachment", attachment });
}

/** Writes a pasted picture. In real files, a few pictures are a large part of the bytes. */
function writeImage(random: Random, session: SessionWriter): void {
  const data = random.hex(1000).repeat(Math.min(1000, spread(random, 250, 0.8)));
  const content = [{ type: "image", source: { type: "base64", media_type: "image/png", data } }];
  chain(random, session, { type: "user", message: { role: "user", content } });
}

function writeStep(random: Random, session: SessionWriter, model: string, withTool: boolean): void {
  const id = `msg_01${random.hex(22)}`;
  const requestId = `req_011${random.hex(20)}`;
  const usage = makeUsage(random);
  const blocks: Record<string, unknown>[] = [];
  if (random.next() < 0.15)
    blocks.push({
      type: "thinking",
      thinking: prose(random, spread(random, 30, 1), session.topics),
      signature: random.hex(400),
    });
  if (!withTool || random.next() < 0.5)
    blocks.push({ type: "text", text: prose(random, spread(random, 22, 1), session.topics) });
  const toolId = `toolu_01${random.hex(22)}`;
  const tool = random.pick(tools);
  if (withTool) {
    const command = prose(random, spread(random, 25, 1), session.topics);
    blocks.push({ type: "tool_use", id: toolId, name: tool, input: { command } });
  }
  blocks.forEach((block, at) => {
    const last = at === blocks.length - 1;
    const message = {
      model,
      id,
      type: "message",
      role: "assistant",
      content: [block],
      stop_reason: last ? (withTool ? "tool_use" : "end_turn") : null,
      stop_sequence: null,
      // Before Claude Code 2.1.97, only the last line of an answer had the final number of output tokens.
      usage: last ? usage : { ...usage, output_tokens: 1 },
    };
    chain(random, session, { message, requestId, type: "assistant" });
  });
  if (withTool) writeResult(random, session, toolId, tool);
}

/**
 * Writes a tool result twice, as Claude Code does. The first copy is for the model. The second copy has Claude Code's
 * format. For an edit, it contains the whole file.
 */
function writeResult(random: Random, session: SessionWriter, toolId: string, tool: string): void {
  const own = (): Random => createRandom(7);
  const output = toolOutput(random, Math.min(60_000, spread(random, 400, 1.8)), own);
  const content = [{ tool_use_id: toolId, type: "tool_result", content: output, is_error: random.next() < 0.05 }];
  const kept =
    tool === "Edit"
      ? {
          filePath: `${session.cwd}/a.ts`,
          originalFile: toolOutput(random, Math.min(75_000, spread(random, 3000, 1.3)), own),
        }
      : { stdout: output, stderr: "", interrupted: false, isImage: false };
  chain(random, session, { type: "user", message: { role: "user", content } }, { toolUseResult: kept });
}

function makeUsage(random: Random): Record<string, unknown> {
  const fiveMinutes = random.integer(2) * random.integer(4000);
  const oneHour = random.integer(2) * random.integer(4000);
  return {
    input_tokens: 1 + random.integer(500),
    cache_creation_input_tokens: fiveMinutes + oneHour,
    cache_read_input_tokens: random.integer(120_000),
    cache_creation: { ephemeral_5m_input_tokens: fiveMinutes, ephemeral_1h_input_tokens: oneHour },
    output_tokens: 1 + random.integer(2000),
    service_tier: "standard",
  };
}

type Fields = Readonly<Record<string, unknown>>;

function chain(random: Random, session: SessionWriter, body: Fields, tail: Fields = {}): void {
  const uuid = random.uuid();
  session.time += 500 + random.integer(20_000);
  session.write({
    parentUuid: session.parentUuid,
    isSidechain: session.agentId !== undefined,
    ...(session.agentId === undefined ? {} : { agentId: session.agentId }),
    userType: "external",
    cwd: session.cwd,
    sessionId: session.sessionId,
    version: "2.1.270",
    gitBranch: "main",
    ...body,
    uuid,
    timestamp: new Date(session.time).toISOString(),
    ...tail,
  });
  session.parentUuid = uuid;
}
