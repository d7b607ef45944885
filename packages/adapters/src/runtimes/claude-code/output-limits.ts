/** How many tokens each answer of a child can have at most. Claude Code itself does not tell. */
export interface OutputLimits {
  note(apiMessageId: string, maxTokens: number): void;
  of(apiMessageId: string): number | undefined;
}

/** Answers that are remembered: a few are under way at a time. */
const REMEMBERED = 100;

/**
 * The limit is in the request, which the model broker sees: so it is known for a child in a sandbox. Without a sandbox it is known
 * where the operator or the caller has set it for all answers (`CLAUDE_CODE_MAX_OUTPUT_TOKENS`).
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
