/** The token limit of each answer of a child. Claude Code itself does not report it. */
export interface OutputLimits {
  note(apiMessageId: string, maxTokens: number): void;
  of(apiMessageId: string): number | undefined;
}

/** How many answers are remembered. Only a few are in progress at a time. */
const REMEMBERED = 100;

/**
 * The limit is in the request, which only the model broker sees, so it is known for a child in a sandbox. Without a
 * sandbox it is known only if the operator or the caller set it for all answers (`CLAUDE_CODE_MAX_OUTPUT_TOKENS`).
 */
export function createOutputLimits(setForAll: string | undefined): OutputLimits {
  const known = new Map<string, number>();
  const forAll = Number(setForAll);
  return {
    note(apiMessageId, maxTokens) {
      if (maxTokens > 0) known.set(apiMessageId, maxTokens);
      const [oldest] = known.keys();
      if (known.size > REMEMBERED && oldest !== undefined) known.delete(oldest);
    },
    of: (apiMessageId) => known.get(apiMessageId) ?? (forAll > 0 ? forAll : undefined),
  };
}
