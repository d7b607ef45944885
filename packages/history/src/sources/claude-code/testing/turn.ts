import { createRandom, type Random } from "./random.ts";
import { prose, toolOutput } from "./prose.ts";

/** Writes the lines of a generated session and keeps the parent and time of the next line. */
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

/** A prompt, a few answers with tools and their results, and the metadata that follows a turn. */
export function writeTurn(random: Random, session: SessionWriter): void {
  const prompt = prose(random, 8 + random.integer(30), session.topics);
  chain(random, session, { type: "user", message: { role: "user", content: prompt }, promptSource: "typed" });
  const steps = 1 + random.integer(6);
  const model = random.pick(models);
  for (let step = 0; step < steps; step += 1) writeStep(random, session, model, step < steps - 1);
  if (session.agentId !== undefined) return;
  const { sessionId } = session;
  session.write({ type: "last-prompt", lastPrompt: prompt.slice(0, 200), leafUuid: session.parentUuid, sessionId });
  session.write({ type: "ai-title", aiTitle: prompt.slice(0, 40), sessionId });
  session.write({ type: "permission-mode", permissionMode: "default", sessionId });
}

function writeStep(random: Random, session: SessionWriter, model: string, withTool: boolean): void {
  const id = `msg_01${random.hex(22)}`;
  const requestId = `req_011${random.hex(20)}`;
  const usage = makeUsage(random);
  const blocks: Record<string, unknown>[] = [
    { type: "thinking", thinking: prose(random, 30, session.topics), signature: random.hex(400) },
    { type: "text", text: prose(random, 20 + random.integer(80), session.topics) },
  ];
  const toolId = `toolu_01${random.hex(22)}`;
  const tool = random.pick(tools);
  if (withTool)
    blocks.push({ type: "tool_use", id: toolId, name: tool, input: { command: prose(random, 12, session.topics) } });
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
      // Before 2.1.97 only the last line had the final count.
      usage: last ? usage : { ...usage, output_tokens: 1 },
    };
    chain(random, session, { message, requestId, type: "assistant" });
  });
  if (!withTool) return;
  const output = toolOutput(random, 200 + random.integer(9000), () => createRandom(7));
  const content = [{ tool_use_id: toolId, type: "tool_result", content: output, is_error: false }];
  const toolUseResult = { stdout: output, stderr: "", interrupted: false, isImage: false };
  chain(random, session, { type: "user", message: { role: "user", content } }, { toolUseResult });
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
