import { KnownError } from "@skein/protocol";

/** Rejects unknown options, because a misspelled option would have no effect. */
export function refuseUnknown(given: object, known: readonly string[], whose: string): void {
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new KnownError("invalid", `${whose} has no option "${unknown}". It has ${known.join(", ")}.`);
}
