import type { Failure } from "@skein/protocol";
import { problemOf } from "./run-tool.ts";

/** A memory that fails is said to have, and the run goes on without it. */
export async function askMemory<T>(
  otherwise: T,
  call: () => Promise<T> | undefined,
): Promise<readonly [T, { failed?: true; error?: Failure }]> {
  try {
    return [(await call()) ?? otherwise, {}];
  } catch (error) {
    return [otherwise, { failed: true, error: { code: "memory_error", message: problemOf(error) } }];
  }
}
