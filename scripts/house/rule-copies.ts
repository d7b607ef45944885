/**
 * Finds rules of a run that are implemented outside their module, and functions that follow a run until it is over.
 *
 * A rule is recognised by the properties that its code reads, so copies with other names are found too.
 */
import type { Node } from "oxc-parser";
import { type Finding, type SourceFile, type SourceTree, isFunction, productFiles, walk } from "./source-tree.ts";

/** Where the rules of a run belong. */
const HOME = "packages/core/src/run/";

export interface RunRule {
  readonly name: string;
  /** The description of the rule, in the sentence `… decides <about>`. */
  readonly about: string;
  /** Whether this node implements the rule. Called for every node; only the outermost match counts. */
  is(node: Node, file: SourceFile): boolean;
}

export const RUN_RULES: readonly RunRule[] = [
  {
    name: "which prompt is next",
    about: "which prompt is next",
    is: (node) =>
      node.type === "LogicalExpression" &&
      node.operator === "??" &&
      calls(node.left, "find") &&
      says(node, "interrupt"),
  },
  {
    name: "when a run is cancelled",
    about: "when a run is cancelled",
    is: (node) =>
      node.type === "LogicalExpression" &&
      node.operator === "||" &&
      reads(node.left, "cancelRequested") &&
      says(node.right, "interrupt"),
  },
  {
    name: "when a run is poisoned",
    about: "when a run is poisoned",
    is: (node) =>
      node.type === "BinaryExpression" && /^[<>]=?$/u.test(node.operator) && reads(node, "resumesWithoutProgress"),
  },
  {
    name: "the limits of a run's cost",
    about: "which limits of cost a run has",
    is: (node) => node.type === "ArrayExpression" && times(node, "max_cost_micros") >= 2,
  },
  {
    name: "the text of an unknown outcome",
    about: "the text for a call with an unknown outcome",
    is: (node) =>
      node.type === "Literal" && typeof node.value === "string" && node.value.startsWith("The outcome of this call is"),
  },
  {
    name: "append again while the lease is valid",
    about: "when an append is tried again",
    is: (node) =>
      node.type === "LogicalExpression" && says(node.left, "store_unavailable") && reads(node.right, "validUntil"),
  },
  {
    name: "after which facts a run may wait",
    about: "after which facts a run may wait",
    is: (node) =>
      node.type === "LogicalExpression" &&
      ["await.opened", "await.resolved", "tool.completed"].every((type) => says(node, type)),
  },
  {
    name: "watchers of a run",
    about: "how a run is followed until it is over",
    is: (node, { text }) => isFunction(node) && followsRun(node, text),
  },
];

/** Returns every place in the code that implements the rule. */
export function placesOf(rule: RunRule, tree: SourceTree): readonly { readonly file: string; readonly line: number }[] {
  return productFiles(tree).flatMap((file) => {
    const lines: number[] = [];
    walk(file.program, (node) => {
      if (!rule.is(node, file)) return true;
      lines.push(file.lineAt(node.start));
      return false;
    });
    return lines.map((line) => ({ file: file.path, line }));
  });
}

/** Finds rules of a run that code outside of `core/src/run` implements. */
export function ruleCopies(tree: SourceTree): readonly Finding[] {
  return RUN_RULES.flatMap((rule) => {
    const places = placesOf(rule, tree);
    const home =
      places.find(({ file }) => file === `${HOME}rules.ts`) ?? places.find(({ file }) => file.startsWith(HOME));
    return places
      .filter((place) => place !== home)
      .map((place) => ({
        ...place,
        sentence: `decides ${rule.about}. That belongs in ${HOME}.${home ? ` Use ${home.file}:${home.line}, which already decides it.` : ""}`,
      }));
  });
}

/** Whether a function reads a session's log until a run ends. */
function followsRun(node: Node, text: string): boolean {
  const code = text.slice(node.start, node.end);
  return /\bsessions\.follow\(/u.test(code) && /\bfor await\b/u.test(code) && /\brun_?[iI]d\b/u.test(code);
}

function some(node: Node, is: (inner: Node) => boolean): boolean {
  let found = false;
  walk(node, (inner) => {
    found ||= is(inner);
    return !found;
  });
  return found;
}

function says(node: Node, text: string): boolean {
  return some(node, (inner) => inner.type === "Literal" && inner.value === text);
}

function reads(node: Node, name: string): boolean {
  return times(node, name) > 0;
}

/** Counts the reads of a property or variable. */
function times(node: Node, name: string): number {
  let found = 0;
  walk(node, (inner) => {
    if (inner.type === "Identifier" && inner.name === name) found += 1;
  });
  return found;
}

function calls(node: Node, name: string): boolean {
  return some(node, (inner) => {
    if (inner.type !== "CallExpression") return false;
    const { callee } = inner;
    return callee.type === "MemberExpression" && callee.property.type === "Identifier" && callee.property.name === name;
  });
}
