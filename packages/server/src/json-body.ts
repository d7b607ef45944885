import { ApiError } from "./api-error.ts";

/** Deeper than any message is, and far from where a stack ends. */
const DEPTH = 200;
/** More than any object of ours has. Checking half a million unknown keys held everybody up for a second. */
const KEYS = 10_000;

/**
 * Refuses JSON that is nested so deeply that reading it back could end a process, or has an object with so many keys that
 * checking it would keep others waiting. Looks at the text, before it is parsed.
 */
export function checkShape(text: string): void {
  let depth = 0;
  const keys: number[] = [];
  let inString = false;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (inString) {
      if (code === 92) index += 1;
      else if (code === 34) inString = false;
      continue;
    }
    if (code === 34) inString = true;
    else if (code === 91 || code === 123) {
      depth += 1;
      if (depth > DEPTH) throw new ApiError("invalid", `The body is nested deeper than ${DEPTH} levels.`);
      keys[depth] = 0;
    } else if (code === 93 || code === 125) depth -= 1;
    else if (code === 58) {
      const count = (keys[depth] ?? 0) + 1;
      if (count > KEYS) throw new ApiError("invalid", `An object of the body has more than ${KEYS} keys.`);
      keys[depth] = count;
    }
  }
}
