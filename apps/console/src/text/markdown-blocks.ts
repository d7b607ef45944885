/**
 * Splits Markdown at blank lines into blocks that can be parsed one by one. It does not split inside a fenced code
 * block, or before a line that may continue a list. While a text grows, only its last block changes.
 */
export function markdownBlocks(text: string): readonly string[] {
  const blocks: string[] = [];
  let current: string[] = [];
  let fence: string | undefined;
  let isBlank = false;
  for (const line of text.split("\n")) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (fence === undefined && isBlank && current.length > 0 && beginsBlock(line, current)) {
      blocks.push(current.join("\n"));
      current = [];
    }
    if (mark !== undefined && fence === undefined) fence = mark;
    else if (mark !== undefined && fence !== undefined && closes(line, fence)) fence = undefined;
    isBlank = line.trim() === "";
    current.push(line);
  }
  if (current.some((line) => line.trim() !== "")) blocks.push(current.join("\n"));
  return blocks;
}

const LIST = /^\s*([-*+]|\d{1,9}[.)])\s/;

function beginsBlock(line: string, before: readonly string[]): boolean {
  if (line.trim() === "" || /^\s/.test(line)) return false;
  const isInList = before.some((one) => LIST.test(one));
  return !(isInList && LIST.test(line)) && !/^\[[^\]]+\]:/.test(line);
}

function closes(line: string, fence: string): boolean {
  const mark = line.trim();
  return mark.startsWith(fence) && /^(`+|~+)$/.test(mark);
}
