/** The token limits of a child's answers. Claude Code does not report them. */
export interface OutputLimits {
  note(apiMessageId: string, maxTokens: number): void;
  of(apiMessageId: string): number | undefined;
}

/** The largest number of remembered answers. Only a few are in progress at a time. */
const REMEMBERED = 100;

/**
 * Remembers the limits of requests that pass through the model broker. For a process without the broker,
 * `CLAUDE_CODE_MAX_OUTPUT_TOKENS` is the limit if it is set.
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
