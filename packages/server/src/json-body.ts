import { ApiError } from "./api-error.ts";

/** Deeper than any message is, and far from where a stack ends. */
const DEPTH = 200;

/** Refuses JSON that is nested so deeply that reading it back could end a process. Looks at the text, before it is parsed. */
export function checkDepth(text: string): void {
  let depth = 0;
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
    } else if (code === 93 || code === 125) depth -= 1;
  }
}
