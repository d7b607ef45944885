/** The source files of a checkout, with their syntax trees and the targets of their imports. */
import {
  type ArrowFunctionExpression,
  type EcmaScriptModule,
  type Function as FunctionNode,
  type Node,
  type ParseResult,
  parseSync,
  visitorKeys,
} from "oxc-parser";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join, posix } from "node:path";

export interface SourceFile {
  /** The path from the root of the checkout, with slashes. */
  readonly path: string;
  readonly text: string;
  readonly program: Node;
  readonly module: EcmaScriptModule;
  /** The numbers of the lines that contain code, not only a comment. */
  readonly codeLines: ReadonlySet<number>;
  /** Returns the line of an offset. The first line is 1. */
  lineAt(offset: number): number;
}

export interface Package {
  /** The package's name for imports. */
  readonly name: string;
  readonly folder: string;
  /** Maps the import names of the package's entries to their files in `src`. */
  readonly entries: ReadonlyMap<string, string>;
  /** The files that the package's commands start. */
  readonly commands: readonly string[];
  /** The package's optional peers and optional dependencies. */
  readonly optional: ReadonlySet<string>;
}

export interface SourceTree {
  readonly root: string;
  readonly files: ReadonlyMap<string, SourceFile>;
  readonly packages: readonly Package[];
  /** Returns the file of an import, or undefined for a package outside of the checkout. */
  resolve(from: string, specifier: string): string | undefined;
}

/** A problem in one sentence, and its place. */
export interface Finding {
  readonly file: string;
  readonly line: number;
  readonly sentence: string;
}

/** Folders in which each folder is a package. */
const PACKAGE_FOLDERS = ["packages", "apps"];
const OTHER_FOLDERS = ["scripts", "bench", "examples"];
const SOURCE = /\.[cm]?[jt]sx?$/u;
const SKIPPED = /(?:^|\/)(?:node_modules|dist|test-results)(?:\/|$)/u;

export function readSourceTree(root: string): SourceTree {
  const files = new Map<string, SourceFile>();
  for (const folder of [...PACKAGE_FOLDERS, ...OTHER_FOLDERS])
    for (const path of sourcesIn(root, folder)) files.set(path, sourceFile(root, path));
  const packages = PACKAGE_FOLDERS.flatMap((folder) => packagesIn(root, folder));
  const entries = new Map(packages.flatMap((found) => [...found.entries]));
  return {
    root,
    files,
    packages,
    resolve(from, specifier) {
      if (!specifier.startsWith(".")) return entries.get(specifier);
      const path = posix.join(posix.dirname(from), specifier);
      return files.has(path) ? path : undefined;
    },
  };
}

/** Whether users of a package get the file. The files in `src` are product code, except contract suites. */
function isProductCode(path: string): boolean {
  return /^(?:packages|apps)\/[^/]+\/src\//u.test(path) && !path.includes("/testing/");
}

/** The product code of a tree, in a fixed order. */
export function productFiles({ files }: SourceTree): readonly SourceFile[] {
  return [...files.values()].filter(({ path }) => isProductCode(path));
}

/** Returns the package folder of a file, such as `packages/core`, or undefined for scripts. */
export function packageFolder(path: string): string | undefined {
  return /^(?:packages|apps)\/[^/]+/u.exec(path)?.[0];
}

/** Visits a node and all its descendants. If `visit` returns `false` for a node, its children are skipped. */
export function walk(node: Node, visit: (node: Node, around: readonly Node[]) => boolean | void): void {
  const around: Node[] = [];
  const go = (current: Node): void => {
    if (visit(current, around) === false) return;
    around.push(current);
    for (const child of childrenOf(current)) go(child);
    around.pop();
  };
  go(node);
}

export function isFunction(node: Node): node is FunctionNode | ArrowFunctionExpression {
  const { type } = node;
  return type === "FunctionDeclaration" || type === "FunctionExpression" || type === "ArrowFunctionExpression";
}

function childrenOf(node: Node): readonly Node[] {
  const values = (visitorKeys[node.type] ?? []).flatMap((key) => (node as unknown as Record<string, unknown>)[key]);
  return values.filter((value): value is Node => typeof value === "object" && value !== null);
}

function sourcesIn(root: string, folder: string): readonly string[] {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && SOURCE.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
    .filter((path) => !SKIPPED.test(path))
    .sort();
}

function sourceFile(root: string, path: string): SourceFile {
  // Everything is computed on first use, because most rules need only some of the files.
  let content: string | undefined;
  let starts: readonly number[] | undefined;
  let parsed: ParseResult | undefined;
  let codeLines: ReadonlySet<number> | undefined;
  const read = (): string => (content ??= readFileSync(join(root, path), "utf8"));
  const parse = (): ParseResult => {
    parsed ??= parseSync(path, read());
    const [error] = parsed.errors;
    if (error) throw new Error(`${path} cannot be parsed: ${error.message}`);
    return parsed;
  };
  return {
    path,
    get text() {
      return read();
    },
    get program() {
      return parse().program;
    },
    get module() {
      return parse().module;
    },
    get codeLines() {
      return (codeLines ??= linesWithCode(read(), parse().comments));
    },
    lineAt(offset) {
      starts ??= [0, ...[...read().matchAll(/\n/gu)].map(({ index }) => index + 1)];
      const after = starts.findIndex((start) => start > offset);
      return after === -1 ? starts.length : after;
    },
  };
}

function linesWithCode(text: string, comments: ParseResult["comments"]): ReadonlySet<number> {
  let code = text;
  for (const { start, end } of comments)
    code = code.slice(0, start) + code.slice(start, end).replaceAll(/[^\n]/gu, " ") + code.slice(end);
  return new Set(code.split("\n").flatMap((line, index) => (line.trim() === "" ? [] : [index + 1])));
}

interface Manifest {
  readonly name: string;
  readonly exports?: Readonly<Record<string, unknown>>;
  readonly bin?: Readonly<Record<string, string>> | string;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

function packagesIn(root: string, parent: string): readonly Package[] {
  if (!existsSync(join(root, parent))) return [];
  return readdirSync(join(root, parent))
    .map((name) => `${parent}/${name}`)
    .filter((folder) => existsSync(join(root, folder, "package.json")))
    .map((folder) => {
      const manifest = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8")) as Manifest;
      const { name, bin = {}, optionalDependencies = {}, peerDependenciesMeta = {} } = manifest;
      const peers = Object.entries(peerDependenciesMeta).filter(([, { optional }]) => optional);
      return {
        name,
        folder,
        entries: entriesOf(folder, manifest),
        commands: (typeof bin === "string" ? [bin] : Object.values(bin)).map((file) => posix.join(folder, file)),
        optional: new Set([...Object.keys(optionalDependencies), ...peers.map(([peer]) => peer)]),
      };
    });
}

/** Maps the entries of a package to their targets in `src`, under any export condition. */
function entriesOf(folder: string, { name, exports = {} }: Manifest): ReadonlyMap<string, string> {
  const entries = new Map<string, string>();
  for (const [subpath, targets] of Object.entries(exports)) {
    const all = typeof targets === "string" ? [targets] : Object.values((targets ?? {}) as Record<string, unknown>);
    const source = all.find((target) => typeof target === "string" && target.startsWith("./src/"));
    if (typeof source === "string") entries.set(posix.join(name, subpath), posix.join(folder, source));
  }
  return entries;
}
