import { RE2JS } from "re2js";

/**
 * The largest number of characters in a pattern. It is enough for people and too small for an attack.
 */
const LONGEST = 1000;

/**
 * Returns a test of paths for a glob with `*` and `?` inside a name, `**` across folders, `[a-z]` and `{a,b}`.
 *
 * The pattern comes from a model, so the test must run in linear time. Other engines take very long for patterns with
 * many stars.
 */
export function globTest(pattern: string): (path: string) => boolean {
  if (pattern.length > LONGEST) throw new Error(`A pattern may have ${LONGEST} characters at most.`);
  const matcher = RE2JS.compile(`^(?:${translated(pattern)})$`, RE2JS.DOTALL);
  return (path) => matcher.matcher(path).find();
}

function translated(pattern: string): string {
  let regex = "";
  let depth = 0;
  for (let at = 0; at < pattern.length; at++) {
    const rest = pattern.slice(at);
    const whole = /^(?:\*\*\/|\*\*|\[!?[^\]/]+\])/.exec(rest)?.[0];
    if (whole !== undefined) {
      regex += whole === "**/" ? "(?:.*/)?" : whole === "**" ? ".*" : characterClass(whole);
      at += whole.length - 1;
      continue;
    }
    const letter = rest.charAt(0);
    if (letter === "{") depth += 1;
    if (letter === "*") regex += "[^/]*";
    else if (letter === "?") regex += "[^/]";
    else if (letter === "{") regex += "(?:";
    else if (letter === "}" && depth > 0) {
      depth -= 1;
      regex += ")";
    } else if (letter === "," && depth > 0) regex += "|";
    else regex += RE2JS.quote(letter);
  }
  if (depth > 0) throw new Error(`The pattern ${pattern} has a { without its }.`);
  return regex;
}

function characterClass(text: string): string {
  const negated = text.startsWith("[!");
  const inner = text.slice(negated ? 2 : 1, -1).replaceAll(/[\\[\]^]/g, "\\$&");
  return `[${negated ? "^" : ""}${inner}]`;
}
