import type { KeyPolicy } from "@skein/core";
import { ClaudeOptions } from "@skein/protocol";

/**
 * Returns the kind of a session. Sessions of a tenant with equal options and equal rules are of the same kind. The mode
 * of the sandbox is left out, because it may change at any time.
 */
export function kindOf(tenant: string, options: unknown, rules: KeyPolicy = {}): string {
  return JSON.stringify([
    tenant,
    ClaudeOptions.safeParse(options ?? {}).data ?? null,
    { ...rules, sandbox: undefined },
  ]);
}
