import type { Event } from "@skein/protocol";

/** About how many bytes an event takes in memory. Strings are not looked into, so that a large event costs no more than a small one. */
export function sizeOfEvent({ data }: Event): number {
  return sizeOf(data);
}

function sizeOf(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 8;
  let size = 16;
  for (const part of Object.values(value)) size += 16 + sizeOf(part);
  return size;
}
