import { FACTS, KnownError, isFactType } from "@skein/protocol";

/** Rejects unknown options, because a misspelled option would have no effect. */
export function refuseUnknown(given: object, known: readonly string[], whose: string): void {
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new KnownError("invalid", `${whose} has no option "${unknown}". It has ${known.join(", ")}.`);
}

/** Rejects a function for an unknown type of event, because the function would never be called. */
export function refuseUnknownListeners(onEvent: unknown): void {
  if (typeof onEvent !== "object" || onEvent === null) return;
  const unknown = Object.keys(onEvent).find((type) => !isFactType(type));
  if (unknown === undefined) return;
  throw new KnownError(
    "invalid",
    `"${unknown}" is not a type of event. onEvent can have functions for ${Object.keys(FACTS).join(", ")}.`,
  );
}

/** Rejects a missing session id before the store is asked. `call` is the name of the method. */
export function checkSessionId(sessionId: unknown, call: string): void {
  if (typeof sessionId === "string" && sessionId !== "") return;
  throw new KnownError(
    "invalid",
    `${call} needs the id of a session, but got ${JSON.stringify(sessionId) ?? "undefined"}. "(await agent.sessions()).list()" and "skein sessions list" show the ids.`,
  );
}
