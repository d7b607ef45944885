import { KnownError } from "@skein/protocol";
import type { Limits } from "@skein/server";

/** The names of all limits of the HTTP server. The compiler reports a missing name. */
const NAMES = Object.keys({
  requestsPerSecond: 0,
  requestBurst: 0,
  streams: 0,
  allStreams: 0,
  sessionsPerMinute: 0,
  queuedPrompts: 0,
  wrongKeysPerMinute: 0,
  bodyBytes: 0,
  messageBytes: 0,
  importBytes: 0,
  bytesInFlight: 0,
  requestMs: 0,
  backlogBytes: 0,
  backlogMs: 0,
  heartbeatMs: 0,
  answerMs: 0,
  statements: 0,
  notices: 0,
  statementMs: 0,
  statementRows: 0,
  statementBytes: 0,
} satisfies Record<keyof Limits, 0>) as readonly (keyof Limits)[];

/** Checks limits. Throws `invalid` with the name of the wrong limit. */
export function checkedLimits(given: Partial<Limits>, whose: string): Partial<Limits> {
  if (typeof given !== "object" || given === null)
    throw new KnownError("invalid", `${whose} must be an object like { streams: 20 }.`);
  for (const [name, value] of Object.entries(given)) {
    if (!NAMES.includes(name as keyof Limits))
      throw new KnownError("invalid", `${whose} has "${name}". The limits are ${NAMES.join(", ")}.`);
    if (!Number.isFinite(value) || value < 0)
      throw new KnownError("invalid", `${whose} sets ${name} to "${String(value)}". Expected 0 or more.`);
  }
  return given;
}

/** Parses SKEIN_LIMITS: `streams=20,requestsPerSecond=50`. */
export function limitsIn(written: readonly string[]): Partial<Limits> {
  const pairs = written.map((one) => {
    const [, name = "", value = ""] = /^([A-Za-z]+)=(\d+(?:\.\d+)?)$/.exec(one) ?? [];
    if (name === "")
      throw new KnownError("invalid", `SKEIN_LIMITS has "${one}". Expected streams=20,requestsPerSecond=50.`);
    return [name, Number(value)] as const;
  });
  return checkedLimits(Object.fromEntries(pairs), "SKEIN_LIMITS");
}
