/**
 * Finds a text that every match of a pattern contains. Only lines with this text are parsed. Alternatives, groups and
 * optional parts are ignored, so the function may not find every such text.
 */
export function requiredLiteral(pattern: string): string | undefined {
  if (pattern.includes("|") || pattern.includes("(?")) return undefined;
  const runs: string[] = [];
  let run = "";
  let depth = 0;
  const close = (): void => {
    if (depth === 0) runs.push(run);
    run = "";
  };
  for (let i = 0; i < pattern.length; i += 1) {
    const char = pattern.charAt(i);
    if (char === "\\") {
      i += 1;
      const next = pattern.charAt(i);
      // \. is a literal dot; \d, \b, \x41 and similar escapes are not literal text.
      if (/[A-Za-z0-9]/.test(next)) close();
      else if (depth === 0) run += next;
    } else if (char === "[") {
      close();
      i = endOfClass(pattern, i);
    } else if (char === "(" || char === ")") {
      close();
      depth += char === "(" ? 1 : -1;
    } else if (char === "*" || char === "?" || char === "{") {
      // The character before this quantifier is optional.
      run = run.slice(0, -1);
      close();
      if (char === "{") i = Math.max(i, pattern.indexOf("}", i));
    } else if (char === "+" || char === "^" || char === "$" || char === ".") close();
    else if (depth === 0) run += char;
  }
  close();
  const usable = runs.flatMap((text) => text.toLowerCase().split(/[^!#-%(-;=?-[\]-~\u0080-\u{10ffff}]+/u));
  const longest = usable.reduce((a, b) => (Buffer.byteLength(b) > Buffer.byteLength(a) ? b : a), "");
  return Buffer.byteLength(longest) >= 3 ? longest : undefined;
}

function endOfClass(pattern: string, at: number): number {
  let i = at + 1;
  if (pattern.charAt(i) === "^") i += 1;
  if (pattern.charAt(i) === "]") i += 1;
  while (i < pattern.length && pattern.charAt(i) !== "]") i += pattern.charAt(i) === "\\" ? 2 : 1;
  return i;
}
