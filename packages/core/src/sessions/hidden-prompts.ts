import type { AgentConfig, Event, JsonObject } from "@skein/protocol";
import type { Records, StoredRecord } from "../ports/records.ts";
import type { Store } from "../ports/store.ts";

/** The text that replaces a system prompt for API keys that may only read. */
export const HIDDEN_PROMPT = "[hidden: this key may only read]";

/**
 * The store for API keys that may only read. It hides the system prompts of agents without `show_system_prompt`, and
 * all system prompts in the options of a run. Routes, streams, exports, webhooks and SQL for such keys read from this
 * store, so all of them hide the same texts. Reasons: docs/decisions/186-hidden-system-prompts.md.
 */
export function withHiddenPrompts(store: Store): Store {
  return {
    ...store,
    read: async (sessionId, options) => (await store.read(sessionId, options)).map(shown),
    async *follow(sessionId, options, signal) {
      for await (const event of store.follow(sessionId, options, signal)) yield shown(event);
    },
    async *scan(after) {
      for await (const event of store.scan(after)) yield shown(event);
    },
    onNews: (listener) => store.onNews((sessionId, events) => listener(sessionId, events?.map(shown))),
    // A snapshot contains the prompt. Without a snapshot, the state is folded from the log.
    readSnapshot: async () => undefined,
    records: shownRecords(store.records),
  };
}

/** Whether this event is a copy for a key that may only read, so that a prompt in it is hidden. */
export function isPromptHidden(event: Event): boolean {
  let found = false;
  shownEvent(event, (prompt) => {
    found ||= prompt === HIDDEN_PROMPT;
    return HIDDEN_PROMPT;
  });
  return found;
}

function shown(event: Event): Event {
  return shownEvent(event, hidden);
}

/** Returns what is shown instead of a prompt. */
type Hide = (prompt: unknown) => string;

function shownEvent(event: Event, hide: Hide): Event {
  switch (event.event_type) {
    case "session.created": {
      const agent = shownConfig(event.data.agent, hide);
      return agent === event.data.agent ? event : { ...event, data: { ...event.data, agent } };
    }
    case "prompt.accepted": {
      const { options } = event.data;
      return options ? { ...event, data: { ...event.data, options: shownOptions(options, hide) } } : event;
    }
    default:
      return event;
  }
}

function shownConfig(config: AgentConfig, hide: Hide): AgentConfig {
  if (config.show_system_prompt) return config;
  const claude = config.extras["claude"] as JsonObject | undefined;
  return {
    ...config,
    system_prompt: hide(config.system_prompt),
    extras: claude ? { ...config.extras, claude: shownOptions(claude, hide) } : config.extras,
  };
}

/** Hides the prompts in the options of a Claude Code session or run, including the prompts of subagents. */
function shownOptions(options: JsonObject, hide: Hide): JsonObject {
  const { system_prompt, system_prompt_append, agents } = options;
  return {
    ...options,
    ...(typeof system_prompt === "string" && { system_prompt: hide(system_prompt) }),
    ...(typeof system_prompt_append === "string" && { system_prompt_append: hide(system_prompt_append) }),
    ...(isObject(agents) && {
      agents: Object.fromEntries(
        Object.entries(agents).map(([name, agent]) => [
          name,
          isObject(agent) ? { ...agent, prompt: hide(agent["prompt"]) } : agent,
        ]),
      ),
    }),
  };
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Hides a prompt. An empty prompt stays empty. */
function hidden(prompt: unknown): string {
  return prompt === "" ? "" : HIDDEN_PROMPT;
}

function shownRecords(records: Records): Records {
  return {
    ...records,
    async get(tenant, kind, id) {
      const record = await records.get(tenant, kind, id);
      return record && shownRecord(record);
    },
    async list(query) {
      const page = await records.list(query);
      return { ...page, items: page.items.map(shownRecord) };
    },
    async *scan() {
      for await (const record of records.scan()) yield shownRecord(record);
    },
  };
}

function shownRecord(record: StoredRecord): StoredRecord {
  if (record.kind !== "agent" && record.kind !== "agent_version") return record;
  const agent = record.value as { readonly config: AgentConfig };
  const config = shownConfig(agent.config, hidden);
  return { ...record, value: { ...agent, config, system_prompt: config.system_prompt } };
}
