import { PassThrough } from "node:stream";

/** Stands for the end of a line inside a prompt that is still being typed. */
const LINE_BREAK = "␤";

const PASTE_START = "\u001B[200~";
const PASTE_END = "\u001B[201~";
/** A paste with more line breaks than this is shown as "[Pasted text …]". */
const SHOWN_BREAKS = 3;

/** Converts pastes and prompts of several lines, so that a line editor can edit them as a single line. */
export interface PasteReader {
  push(chunk: string): string;
  /** Returns the prompt that a typed line stands for: with the pasted texts and with real line breaks. */
  expand(line: string): string;
}

export function createPasteReader(): PasteReader {
  const pasted = new Map<string, string>();
  let kept = "";
  let isPasting = false;

  function shown(paste: string): string {
    const text = paste.replaceAll(/\r\n?/g, "\n").replace(/\n$/, "");
    const breaks = text.split("\n").length - 1;
    // A control character would be a command to the line editor.
    // oxlint-disable-next-line no-control-regex
    const isPlain = !/[\0-\x09\x0b-\x1f\x7f]/.test(text);
    if (isPlain && breaks <= SHOWN_BREAKS) return text.replaceAll("\n", LINE_BREAK);
    const mark = `[Pasted text ${pasted.size + 1}: ${breaks + 1} lines]`;
    pasted.set(mark, text);
    return mark;
  }

  return {
    push(chunk) {
      kept += chunk;
      let out = "";
      for (;;) {
        const at = kept.indexOf(isPasting ? PASTE_END : PASTE_START);
        if (at < 0) break;
        const before = kept.slice(0, at);
        out += isPasting ? shown(before) : typed(before);
        kept = kept.slice(at + PASTE_START.length);
        isPasting = !isPasting;
      }
      if (isPasting) return out;
      const begun = partOf(kept, PASTE_START);
      out += typed(kept.slice(0, kept.length - begun));
      kept = kept.slice(kept.length - begun);
      return out;
    },
    expand: (line) =>
      [...pasted]
        .reduce((text, [mark, paste]) => text.replaceAll(mark, () => paste), line)
        .replaceAll(LINE_BREAK, "\n"),
  };
}

/** Converts Alt-Enter and Ctrl-J to line breaks. Enter stays a carriage return. */
function typed(text: string): string {
  return text
    .replaceAll("\r\n", "\r")
    .replaceAll("\u001B\r", LINE_BREAK)
    .replaceAll("\u001B\n", LINE_BREAK)
    .replaceAll("\n", LINE_BREAK);
}

/**
 * Returns how many characters from the start of `sequence` are at the end of the text. A single Escape character counts
 * as 0.
 */
function partOf(text: string, sequence: string): number {
  for (let length = sequence.length - 1; length > 1; length -= 1)
    if (text.endsWith(sequence.slice(0, length))) return length;
  return 0;
}

/** Creates a stream of typed keys for `readline`. In this stream, pastes and line breaks stay on one line. */
export function createTypedInput(stdin: NodeJS.ReadStream, terminal: NodeJS.WriteStream) {
  const reader = createPasteReader();
  const stream = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode: (isRaw: boolean) => void stdin.setRawMode(isRaw),
  });
  const hear = (chunk: string): void => void stream.write(reader.push(chunk));
  const end = (): void => void stream.end();
  stdin.setEncoding("utf8").on("data", hear).once("end", end);
  terminal.write("\u001B[?2004h");
  return {
    stream,
    expand: reader.expand,
    close(): void {
      terminal.write("\u001B[?2004l");
      stdin.off("data", hear).off("end", end).pause();
    },
  };
}
