import { AgentConfig, type Fact, type Ids, NO_USAGE, type NewEvent, textOf } from "@skein/protocol";

export const TENANT = "kill";

const AGENT = AgentConfig.parse({ name: "Killed", model: "claude-sonnet-4-5", system_prompt: "You write." });

/** Makes the facts that the writers append. Each text is unique, so that a check can find it. */
export interface Facts {
  created(title: string): NewEvent;
  prompt(text: string): NewEvent & { readonly event_type: "prompt.accepted" };
  edited(title: string): NewEvent;
  /** Returns the facts of a run from its start to the first model call. */
  started(prompt: NewEvent): NewEvent[];
  /** Returns the facts of the answer and of the end of a run. */
  finished(prompt: NewEvent): NewEvent[];
}

const USAGE = { input_tokens: 12, output_tokens: 3, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };

export function createFacts(ids: Ids): Facts {
  const event = <Given extends Fact>(fact: Given): Given & { id: string } => ({ ...fact, id: ids() });
  return {
    created: (title) =>
      event({
        event_type: "session.created",
        data: {
          tenant: TENANT,
          agent_id: "01890000-0000-7000-8000-000000000001",
          agent_version: 1,
          agent: AGENT,
          title,
          tags: ["kill"],
          model_id: null,
          working_directory: null,
          metadata: {},
          parent: null,
          subagent_of: null,
        },
      }),
    prompt: (text) =>
      event({
        event_type: "prompt.accepted",
        data: { message_id: ids(), run_id: ids(), mode: "queue", content: text, model: null, max_cost_micros: null },
      }),
    edited: (title) => event({ event_type: "session.edited", data: { title } }),
    started(prompt) {
      const { message_id, run_id, content } = promptData(prompt);
      return [
        event({
          event_type: "session.started",
          data: { run_id, message_id, user_message: textOf(content), formatter: "json" },
        }),
        event({ event_type: "message.created", data: entered(run_id, message_id, "user") }),
        event({
          event_type: "step.started",
          data: {
            run_id,
            step: 1,
            attempt: 1,
            purpose: "step",
            model: AGENT.model,
            max_tokens: 2048,
            thinking_tokens: 0,
            tools_count: 0,
            messages_count: 1,
            estimated_tokens: 10,
          },
        }),
      ];
    },
    finished(prompt) {
      const { run_id } = promptData(prompt);
      const message_id = ids();
      return [
        event({
          event_type: "step.generated",
          data: {
            run_id,
            step: 1,
            purpose: "step",
            message_id,
            results_message_id: null,
            content: [{ type: "text", text: "Yes." }],
            model: AGENT.model,
            stop_reason: "end_turn",
            usage: USAGE,
            cost: null,
            container_id: null,
            duration_ms: 1,
          },
        }),
        event({ event_type: "message.created", data: entered(run_id, message_id, "assistant") }),
        event({
          event_type: "session.completed",
          data: {
            run_id,
            step: 1,
            stop_reason: "end_turn",
            final_response: "Yes.",
            usage: { ...NO_USAGE, ...USAGE },
            cost_micros: 0,
            unpriced_calls: 1,
            files_generated: 0,
            duration_ms: 2,
          },
        }),
      ];
    },
  };
}

type Entered = Extract<Fact, { event_type: "message.created" }>["data"];

function entered(run_id: string, message_id: string, role: "user" | "assistant"): Entered {
  return {
    message_id,
    run_id,
    step: role === "user" ? 0 : 1,
    role,
    rows: 1,
    transformation_type: `${role}_message_added`,
    messages_before_count: 0,
    messages_after_count: 1,
    tokens_before: 0,
    tokens_after: 10,
  };
}

function promptData(event: NewEvent): Extract<Fact, { event_type: "prompt.accepted" }>["data"] {
  if (event.event_type !== "prompt.accepted") throw new Error(`Expected a prompt, not ${event.event_type}.`);
  return event.data;
}
