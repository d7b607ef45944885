import type { Event } from "@skein/protocol";

/** Estimates the bytes of an event in memory. It uses only the lengths of strings, so that a large event takes no longer than a small one. */
export function sizeOfEvent({ data }: Event): number {
  return sizeOf(data);
}

function sizeOf(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 8;
  let size = 16;
  if (Array.isArray(value)) for (const part of value as unknown[]) size += 16 + sizeOf(part);
  else for (const key in value) size += 16 + sizeOf((value as Record<string, unknown>)[key]);
  return size;
}
