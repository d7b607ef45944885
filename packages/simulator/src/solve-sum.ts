const WORDS: readonly (readonly [RegExp, string])[] = [
  [/\bplus\b/gi, "+"],
  [/\bminus\b/gi, "-"],
  [/\b(?:times|multiplied by)\b|×/gi, "*"],
  [/\bdivided by\b|÷/gi, "/"],
  [/−/g, "-"],
];

/** The value of the sum that a text asks for ("How much is 2 + 3 * 4?"), or null if it asks for none. */
export function solveSum(text: string): string | null {
  const plain = WORDS.reduce((said, [word, sign]) => said.replaceAll(word, sign), text);
  const expression = /[-(]*\s*\d[\d\s.()*/+-]*[+*/-][\d\s.()*/+-]*\d[\s)]*/.exec(plain)?.[0];
  // A date such as 2026-11-18 looks like a calculation, but is not one.
  if (expression === undefined || expression.length > 200 || /^\s*\d+(-\d+){2}\s*$/.test(expression)) return null;
  const value = evaluate(expression);
  if (value === null) return null;
  return String(Number(value.toPrecision(12)));
}

/** Evaluates an expression with `+ - * / ( )`. Null if the text is not such an expression. */
function evaluate(expression: string): number | null {
  const tokens = expression.match(/\d+(?:\.\d+)?|[-+*/()]/g) ?? [];
  let at = 0;

  function sum(): number {
    let value = product();
    while (tokens[at] === "+" || tokens[at] === "-")
      value = tokens[at++] === "+" ? value + product() : value - product();
    return value;
  }

  function product(): number {
    let value = factor();
    while (tokens[at] === "*" || tokens[at] === "/") value = tokens[at++] === "*" ? value * factor() : value / factor();
    return value;
  }

  function factor(): number {
    const token = tokens[at++];
    if (token === "-") return -factor();
    if (token !== "(") return token === undefined ? Number.NaN : Number(token);
    const value = sum();
    return tokens[at++] === ")" ? value : Number.NaN;
  }

  const value = sum();
  return at === tokens.length && Number.isFinite(value) ? value : null;
}
