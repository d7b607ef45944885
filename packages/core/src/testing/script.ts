import {
  type AgentConfig,
  AgentConfig as AgentConfigSchema,
  type Content,
  type Fact,
  type Ids,
  type NewEvent,
  NO_USAGE,
  happenedThen,
  priceCall,
} from "@skein/protocol";
import { rowsOf } from "../log/message-rows.ts";
import type { AppendOptions, Lease, Store } from "../ports/store.ts";

/** The configuration of the agent in every scripted session. */
export const scriptedAgent: AgentConfig = AgentConfigSchema.parse({
  name: "Scripted",
  model: "claude-sonnet-4-5",
  system_prompt: "You are a helpful assistant.",
});

export interface ScriptDeps {
  readonly store: Store;
  readonly ids: Ids;
  readonly sessionId?: string;
  readonly tenant?: string;
  readonly owner?: string;
  /** The time at which all events happened, for a session that is adopted or imported later. */
  readonly happenedAt?: string;
}

/** Appends the facts that a worker with the loop runtime would append to a session, one transaction after the other. */
export interface Script {
  readonly sessionId: string;
  event(fact: Fact): NewEvent;
  append(facts: readonly Fact[], options?: AppendOptions): Promise<void>;
  create(overrides?: Partial<Extract<Fact, { event_type: "session.created" }>["data"]>): Promise<void>;
  /** Appends a prompt. The session is due at once, or at `dueAt` (ms since 1970). */
  prompt(content: Content, dueAt?: number): Promise<{ messageId: string; runId: string }>;
  claim(leaseMs?: number): Promise<Lease>;
  /** One complete turn with one tool call: five transactions. */
  toolTurn(text: string, result?: string): Promise<void>;
}

export function createScript({
  store,
  ids,
  sessionId = ids(),
  tenant = "default",
  owner = "script",
  happenedAt,
}: ScriptDeps): Script {
  let sequence = 0;
  let messages = 0;
  const event = (fact: Fact): NewEvent => ({
    ...(happenedAt === undefined ? fact : happenedThen(fact, happenedAt)),
    id: ids(),
  });

  async function append(facts: readonly Fact[], options: AppendOptions = {}): Promise<void> {
    const { events } = await store.append(sessionId, facts.map(event), options);
    sequence = events.at(-1)?.sequence ?? sequence;
  }

  function entered(entry: {
    messageId: string;
    runId: string;
    step: number;
    role: "user" | "assistant";
    rows: number;
    results?: boolean;
  }): Fact {
    const before = messages;
    messages += 1;
    const { messageId, runId, step, role, rows, results } = entry;
    return {
      event_type: "message.created",
      data: {
        message_id: messageId,
        run_id: runId,
        step,
        role,
        rows,
        transformation_type: results ? "tool_result_added" : `${role}_message_added`,
        messages_before_count: before,
        messages_after_count: messages,
        tokens_before: before * 10,
        tokens_after: messages * 10,
      },
    };
  }

  async function claim(leaseMs = 60_000): Promise<Lease> {
    const claimed = await store.claim({ owner, leaseMs, sessionId });
    if (claimed.kind !== "leased") throw new Error(`Expected a lease, but the session is ${claimed.kind}.`);
    return claimed.lease;
  }

  async function prompt(content: Content, dueAt = 0): Promise<{ messageId: string; runId: string }> {
    const [messageId, runId] = [ids(), ids()];
    const data = {
      message_id: messageId,
      run_id: runId,
      mode: "queue" as const,
      content,
      model: null,
      max_cost_micros: null,
    };
    await append([{ event_type: "prompt.accepted", data }], { tenant, dueAt });
    return { messageId, runId };
  }

  return {
    sessionId,
    event,
    append,
    async create(overrides = {}) {
      const data = {
        tenant,
        agent_id: "01890000-0000-7000-8000-000000000001",
        agent_version: 1,
        agent: scriptedAgent,
        title: null,
        tags: [],
        model_id: null,
        working_directory: null,
        metadata: {},
        parent: null,
        subagent_of: null,
        ...overrides,
      };
      await append([{ event_type: "session.created", data }], { expect: 0 });
    },
    prompt,
    claim,
    async toolTurn(text, result = "4") {
      const { messageId, runId } = await prompt(text);
      const lease = await claim();
      const toolUseId = `toolu_${runId}`;
      const [replyId, resultsId, answerId] = [ids(), ids(), ids()];
      const call = [
        { type: "text", text: "Let me look." },
        { type: "tool_use", id: toolUseId, name: "search", input: { query: text } },
      ];
      const answer = [{ type: "text", text: "The answer is 4" }];
      await append(
        [
          {
            event_type: "session.started",
            data: { run_id: runId, message_id: messageId, user_message: text, formatter: "json" },
          },
          entered({ messageId, runId, step: 0, role: "user", rows: 1 }),
          stepStarted(runId, 1, messages),
        ],
        { lease },
      );
      await append(
        [
          generated({
            runId,
            step: 1,
            messageId: replyId,
            resultsMessageId: resultsId,
            content: call,
            stopReason: "tool_use",
          }),
          entered({
            messageId: replyId,
            runId,
            step: 1,
            role: "assistant",
            rows: rowsOf(replyId, "assistant", call).length,
          }),
          {
            event_type: "tool.started",
            data: {
              run_id: runId,
              step: 1,
              tool_use_id: toolUseId,
              name: "search",
              input: { query: text },
              policy: "once",
            },
          },
        ],
        { lease, expect: sequence },
      );
      await append(
        [
          {
            event_type: "tool.completed",
            data: {
              run_id: runId,
              step: 1,
              tool_use_id: toolUseId,
              name: "search",
              input: { query: text },
              outcome: "committed",
              content: result,
              is_error: false,
              message_id: resultsId,
              part: 0,
              duration_ms: 12,
            },
          },
          entered({ messageId: resultsId, runId, step: 1, role: "user", rows: 1, results: true }),
          stepStarted(runId, 2, messages),
        ],
        { lease },
      );
      await append(
        [
          generated({
            runId,
            step: 2,
            messageId: answerId,
            resultsMessageId: null,
            content: answer,
            stopReason: "end_turn",
          }),
          entered({ messageId: answerId, runId, step: 2, role: "assistant", rows: 1 }),
          {
            event_type: "session.completed",
            data: {
              run_id: runId,
              step: 2,
              stop_reason: "end_turn",
              final_response: "The answer is 4",
              usage: { ...NO_USAGE, input_tokens: 3800, output_tokens: 2600 },
              cost_micros: 52_140,
              unpriced_calls: 0,
              files_generated: 0,
              duration_ms: 40,
            },
          },
        ],
        { lease, expect: sequence, release: { dueAt: null } },
      );
    },
  };
}

function stepStarted(runId: string, step: number, messagesCount: number): Fact {
  return {
    event_type: "step.started",
    data: {
      run_id: runId,
      step,
      attempt: 1,
      purpose: "step",
      model: scriptedAgent.model,
      max_tokens: 2048,
      thinking_tokens: 0,
      tools_count: 1,
      messages_count: messagesCount,
      estimated_tokens: messagesCount * 10,
    },
  };
}

/** Returns a reply with the usage and cost of an example in the specification of the agent tables. */
function generated(reply: {
  runId: string;
  step: number;
  messageId: string;
  resultsMessageId: string | null;
  content: { type: string; [key: string]: unknown }[];
  stopReason: string;
}): Fact {
  return {
    event_type: "step.generated",
    data: {
      run_id: reply.runId,
      step: reply.step,
      purpose: "step",
      message_id: reply.messageId,
      results_message_id: reply.resultsMessageId,
      content: reply.content,
      model: scriptedAgent.model,
      stop_reason: reply.stopReason,
      usage: {
        input_tokens: 1900,
        output_tokens: 1300,
        cache_creation_input_tokens: 200,
        cache_read_input_tokens: 400,
      },
      cost: {
        model: scriptedAgent.model,
        input_micros: 5700,
        output_micros: 19_500,
        cache_write_micros: 750,
        cache_read_micros: 120,
        server_tool_micros: 0,
        total_micros: 26_070,
        long_context_applied: false,
      },
      container_id: null,
      duration_ms: 20,
    },
  };
}

/** Plays a run in which the model searches the web three times. */
export async function playSearches(script: Script): Promise<void> {
  const { runId, messageId } = await script.prompt("Search.");
  const usage = { input_tokens: 1000, output_tokens: 100, server_tool_use: { web_search_requests: 3 } };
  const model = "claude-sonnet-4-5";
  await script.append(
    [
      {
        event_type: "session.started",
        data: { run_id: runId, message_id: messageId, user_message: "Search.", formatter: "json" },
      },
      {
        event_type: "step.abandoned",
        data: { run_id: runId, step: 1, model, usage, cost: priceCall(model, usage) ?? null },
      },
    ],
    { lease: await script.claim() },
  );
}
