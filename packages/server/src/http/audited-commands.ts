import { withoutSecrets } from "@skein/protocol";
import type { Caller } from "../request-context.ts";
import { errorAnswer } from "./api-error.ts";
import { REFUSED } from "./audited-requests.ts";

/** Where the messages of a WebSocket come from. */
export interface SocketOrigin {
  readonly address: string;
  readonly request_id: string;
}

/** The parts of a WebSocket message that the audit log records. */
export interface AuditedCommand {
  readonly type: string;
  readonly tool_use_id?: string | null | undefined;
  readonly session_id?: string | null | undefined;
}

/**
 * Performs the command of a WebSocket message. The audit log records every answer to an await (a question, approval or
 * tool call that waits for the client), and every command that the operator's rules reject. The entry is written before
 * the client gets the result.
 */
export async function audited<Result>(
  { shared, principal }: Pick<Caller, "shared" | "principal">,
  { command, origin }: { readonly command: AuditedCommand; readonly origin: SocketOrigin },
  perform: () => Promise<Result>,
): Promise<Result> {
  const write = async (outcome: "done" | "refused" | "failed", detail: string | null): Promise<void> => {
    const action = command.type === "answer" ? "await.answer" : `refused:${command.type}`;
    const target = (command.type === "answer" ? command.tool_use_id : null) ?? command.session_id ?? null;
    const entry = { action, target, outcome, detail, ...origin };
    const actor = { actor: principal.name, key_id: principal.keyId.slice(0, 12) };
    // If the entry cannot be stored, the server's log has the error. The message is still answered, because its work is
    // done.
    await shared.audit.append(principal.tenant, { ...entry, ...actor }).catch((error: unknown) => {
      shared.deps.log?.({ level: "error", route: "audit", message: withoutSecrets(String(error)) });
    });
  };
  try {
    const result = await perform();
    if (command.type === "answer") await write("done", null);
    return result;
  } catch (error) {
    const { status, body } = errorAnswer(error, "");
    const isRefused = REFUSED.has(body.error.code);
    if (command.type === "answer" || isRefused)
      await write(status < 500 ? "refused" : "failed", withoutSecrets(body.error.message));
    throw error;
  }
}
