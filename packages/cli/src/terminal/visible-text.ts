/**
 * Output of models and tools may contain characters that move the cursor, write to the clipboard, or reverse or hide
 * text. A terminal gets a visible form such as `\x1b` in place of each of these characters.
 */

/** Scripts that need invisible joiners between letters. */
const JOINED = [
  "Arabic",
  "Bengali",
  "Devanagari",
  "Gujarati",
  "Gurmukhi",
  "Kannada",
  "Malayalam",
  "Sinhala",
  "Tamil",
  "Telugu",
]
  .map((script) => `\\p{Script=${script}}`)
  .join("");

/**
 * Control characters except tab and line feed, direction marks, invisible characters, tag characters and lone
 * surrogates. Joiners are kept between emoji and between letters of a script that needs them.
 */
const ACTING = new RegExp(
  [
    "[\\0-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b\\u200e\\u200f",
    "\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufeff\\uffa0\\ufff0-\\ufffb\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}]",
    `|(?<![\\p{Extended_Pictographic}\\p{EMod}\\ufe0f${JOINED}])[\\u200c\\u200d]|\\p{Cs}`,
  ].join(""),
  "gu",
);

/** Escapes the characters of `ACTING`. A carriage return with a line feed becomes a line feed. */
export function visible(text: string): string {
  return text.replaceAll("\r\n", "\n").replaceAll(ACTING, escaped);
}

/** Escapes a text like `visible`, and puts it on one line. For names and titles. */
export function visibleLine(text: string): string {
  return visible(text).replaceAll("\n", "\\n").replaceAll("\t", " ");
}

function escaped(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  const hex = code.toString(16);
  if (code <= 0xff) return `\\x${hex.padStart(2, "0")}`;
  return code > 0xffff ? `\\u{${hex}}` : `\\u${hex.padStart(4, "0")}`;
}

/**
 * Works like `visible`, for text in pieces. If a piece ends with half of a surrogate pair or with a carriage return,
 * this character is kept until the next piece shows what follows it.
 */
export function createVisible(): { push(piece: string): string; end(): string } {
  let kept = "";
  return {
    push(piece) {
      const text = kept + piece;
      kept = /[\ud800-\udbff\r]$/.exec(text)?.[0] ?? "";
      return visible(text.slice(0, text.length - kept.length));
    },
    end() {
      const rest = visible(kept);
      kept = "";
      return rest;
    },
  };
}

/** Returns the value as JSON. The characters of `ACTING` are escaped. Without `indent`, the JSON is one line. */
export function visibleJson(value: unknown, indent?: number): string {
  return (JSON.stringify(value, undefined, indent) ?? "null").replaceAll(ACTING, (found) =>
    Array.from({ length: found.length }, (_, at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, "0")}`).join(
      "",
    ),
  );
}
