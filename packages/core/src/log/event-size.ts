import type { Event } from "@skein/protocol";

/**
 * Estimates the bytes of an event in memory. Only the lengths of strings are read, so a long string takes no more time
 * than a short one.
 */
export function sizeOfEvent({ data }: Event): number {
  return sizeOf(data);
}

function sizeOf(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 8;
  let size = 16;
  for (const part of Array.isArray(value) ? (value as unknown[]) : Object.values(value)) size += 16 + sizeOf(part);
  return size;
}
