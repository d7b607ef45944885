/** Functions and files that are too long. */
import type { Node } from "oxc-parser";
import { type Finding, type SourceFile, type SourceTree, isFunction, productFiles, walk } from "./source-tree.ts";

const MOST_LINES_OF_A_FUNCTION = 80;
const MOST_LINES_OF_A_FILE = 350;

export function longFunctions(tree: SourceTree): readonly Finding[] {
  return [...tree.files.values()].filter(({ path }) => mustBeShort(path)).flatMap(longFunctionsIn);
}

export function longFiles(tree: SourceTree): readonly Finding[] {
  return productFiles(tree).flatMap(({ path, text }) => {
    const lines = linesOf(text);
    if (lines <= MOST_LINES_OF_A_FILE) return [];
    const sentence = `has ${lines} lines; a file has at most ${MOST_LINES_OF_A_FILE}. Move a part that has a name of its own into a file of that name.`;
    return [{ file: path, line: 1, sentence }];
  });
}

export function linesOf(text: string): number {
  return text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
}

/** Contract suites and tests are long functions, so they are not checked. */
function mustBeShort(path: string): boolean {
  return /^(?:(?:packages|apps)\/[^/]+\/src|scripts)\//u.test(path) && !/\/(?:testing|test)\//u.test(path);
}

function longFunctionsIn(file: SourceFile): readonly Finding[] {
  const found: Finding[] = [];
  walk(file.program, (node, around) => {
    if (!isFunction(node)) return;
    const lines = ownLines(node, file);
    if (lines <= MOST_LINES_OF_A_FUNCTION) return;
    found.push({
      file: file.path,
      line: file.lineAt(node.start),
      sentence: `${nameOf(node, around)} has ${lines} lines of its own; a function has at most ${MOST_LINES_OF_A_FUNCTION}. Move a step that has a name of its own into a function.`,
    });
  });
  return found;
}

/** Counts the code lines of a function, without inner functions and exhaustive switches. */
function ownLines(outer: Node, file: SourceFile): number {
  const lines = new Set<number>();
  for (let line = file.lineAt(outer.start); line <= file.lineAt(outer.end); line++)
    if (file.codeLines.has(line)) lines.add(line);
  walk(outer, (node) => {
    const isApart = node !== outer && (isFunction(node) || isExhaustive(node));
    if (!isApart) return true;
    // The first line of an inner function also has code of the outer one.
    for (let line = file.lineAt(node.start) + 1; line <= file.lineAt(node.end); line++) lines.delete(line);
    return false;
  });
  return lines.size;
}

/** Whether this is a switch without `default`. The linter makes sure that such a switch handles every case. */
function isExhaustive(node: Node): boolean {
  return node.type === "SwitchStatement" && node.cases.every(({ test }) => test !== null);
}

function nameOf(node: Node, around: readonly Node[]): string {
  if (isFunction(node) && node.id) return `The function "${node.id.name}"`;
  const parent = around.at(-1);
  if (parent?.type === "VariableDeclarator" && parent.id.type === "Identifier")
    return `The function "${parent.id.name}"`;
  if (parent?.type === "Property" && parent.key.type === "Identifier") return `The function "${parent.key.name}"`;
  return "A function";
}
