import type { Checkpoint } from "@skein/protocol";
import { ApiError } from "../../http/api-error.ts";
import type { Caller } from "../../request-context.ts";

/** The checkpoints of a session, oldest first. */
export function checkpointsOf({ shared, principal }: Caller, sessionId: string): Promise<readonly Checkpoint[]> {
  return shared.deps.store.checkpoints(sessionId, { tenant: principal.tenant });
}

/** Returns the checkpoint with this id, or the checkpoint of the user message with this id. */
export async function checkpointIn(call: Caller, sessionId: string, idOrMessage: string): Promise<Checkpoint> {
  const all = await checkpointsOf(call, sessionId);
  const checkpoint = all.find(({ id, user_message_uuid }) => [id, user_message_uuid].includes(idOrMessage));
  if (!checkpoint) throw new ApiError("CHECKPOINT_NOT_FOUND", `Session ${sessionId} has no checkpoint ${idOrMessage}.`);
  return checkpoint;
}
