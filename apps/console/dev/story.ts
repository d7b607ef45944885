import type { Step } from "@skein/simulator";

/** The script of an example session: the prompts, the answers of the model and the results of tools. */
export interface Story {
  readonly agent: string;
  readonly title?: string;
  readonly tags?: readonly string[];
  readonly turns: readonly Turn[];
  /** How long ago a finished session began. */
  readonly hoursAgo?: number;
}

interface Turn {
  readonly prompt: string;
  readonly steps: readonly Step[];
  /** A PNG image for the prompt, in base64. */
  readonly picture?: string;
}

/** The result of a tool for one input, and how long the tool takes. */
export interface Output {
  readonly text: string;
  readonly ms?: number;
  readonly fails?: boolean;
  readonly picture?: string;
}

/** The results of tool calls. A key is the name of the tool and its input, such as `Bash npm test`. */
export type Outputs = Readonly<Record<string, Output>>;

interface TokenCounts {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_read_input_tokens: number;
  readonly cache_creation_input_tokens: number;
}

/** Returns plausible token counts of a request with `sent` tokens. The share `cached` of them is read from the cache. */
export function tokens(sent: number, output: number, cached = 0.9): TokenCounts {
  const read = Math.round(sent * cached);
  const written = Math.round((sent - read) * 0.85);
  return {
    input_tokens: sent - read - written,
    output_tokens: output,
    cache_read_input_tokens: read,
    cache_creation_input_tokens: written,
  };
}
