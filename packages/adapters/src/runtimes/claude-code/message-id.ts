import { createHash } from "node:crypto";

/** Derives Skein's id of an answer from the API's id, so that transcript entries and messages can be matched. */
export function messageIdOf(sessionId: string, apiMessageId: string): string {
  const hex = createHash("sha256").update(`${sessionId}/${apiMessageId}`).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
