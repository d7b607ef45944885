import type { FactData } from "@skein/protocol";
import type { FactOf } from "../run/facts/index.ts";

/**
 * Constructs the facts that can be appended without a lease. No other file constructs them. The facts that need a lease
 * are in run/facts.
 */

type Created = FactData<"session.created">;

/** Makes the fact that a session begins. Fields that are not given are empty. */
export function sessionCreated(
  session: Pick<Created, "tenant" | "agent_id" | "agent_version" | "agent" | "working_directory"> & Partial<Created>,
): FactOf<"session.created"> {
  return {
    event_type: "session.created",
    data: {
      tenant: session.tenant,
      agent_id: session.agent_id,
      agent_version: session.agent_version,
      agent: session.agent,
      title: session.title ?? null,
      tags: session.tags ?? [],
      model_id: session.model_id ?? null,
      working_directory: session.working_directory,
      metadata: session.metadata ?? {},
      parent: session.parent ?? null,
      subagent_of: session.subagent_of ?? null,
      ...(session.opened_by !== undefined && { opened_by: session.opened_by }),
    },
  };
}

type Prompt = FactData<"prompt.accepted">;

/** Makes the fact that a prompt was accepted. When this fact is in the log, the prompt is durable. */
export function promptAccepted(
  prompt: Pick<Prompt, "message_id" | "run_id" | "mode" | "content"> & Partial<Prompt>,
): FactOf<"prompt.accepted"> {
  return {
    event_type: "prompt.accepted",
    data: {
      message_id: prompt.message_id,
      run_id: prompt.run_id,
      mode: prompt.mode,
      content: prompt.content,
      model: prompt.model ?? null,
      max_cost_micros: prompt.max_cost_micros ?? null,
      ...(prompt.key_name !== undefined && { key_name: prompt.key_name }),
      ...(prompt.options && { options: prompt.options }),
    },
  };
}

export function cancelRequested(runId: string, reason: string | null): FactOf<"cancel.requested"> {
  return { event_type: "cancel.requested", data: { run_id: runId, reason } };
}

export function awaitAnswered(data: FactData<"await.answered">): FactOf<"await.answered"> {
  return { event_type: "await.answered", data };
}

export function controlRequested(data: FactData<"control.requested">): FactOf<"control.requested"> {
  return { event_type: "control.requested", data };
}

export function rewindRequested(data: FactData<"rewind.requested">): FactOf<"rewind.requested"> {
  return { event_type: "rewind.requested", data };
}

export function sessionEdited(data: FactData<"session.edited">): FactOf<"session.edited"> {
  return { event_type: "session.edited", data };
}

export function messageCopied(data: FactData<"message.copied">): FactOf<"message.copied"> {
  return { event_type: "message.copied", data };
}
