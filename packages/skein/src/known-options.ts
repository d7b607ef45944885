import { KnownError } from "@skein/protocol";

/** Refuses options that nobody reads: a name that was spelled in another way would be ignored in silence. */
export function refuseUnknown(given: object, known: readonly string[], whose: string): void {
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new KnownError("invalid", `${whose} has no option "${unknown}". It has ${known.join(", ")}.`);
}
