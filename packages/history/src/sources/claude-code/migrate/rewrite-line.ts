/**
 * Rewrites paths in the bytes of a line. Only strings in fields that contain paths change. All other bytes stay
 * unchanged, for example text, signatures, the order of keys and escapes. Unknown and damaged lines are not changed.
 */
import { knownBlockTypes } from "../format/known-block-types.ts";
import { findKeys, keys, newFound, skipSpace, skipString, skipValue } from "../../../scan/json-scan.ts";
import { isKnownLineType } from "../format/known-line-types.ts";
import { mapPath, type PathMapping } from "../../../migrate/path-mapping.ts";
import type { Splice } from "../../../migrate/splices.ts";

export interface Rewritten {
  readonly bytes: Buffer;
  readonly splices: readonly Splice[];
}

/** Fields that contain a path, or a list of paths, wherever they occur in a line. */
const pathFields: ReadonlySet<string> = new Set([
  "absolute_path",
  "absolutePath",
  "cwd",
  "directory",
  "directory_path",
  "displayPath",
  "file_path",
  "filePath",
  "filename",
  "filenames",
  "folder",
  "fullPath",
  "notebook_path",
  "originalCwd",
  "originalPath",
  "outputFile",
  "path",
  "paths",
  "persistedOutputPath",
  "planFilePath",
  "project",
  "projectPath",
  "relocatedCwd",
  "root",
  "scriptPath",
  "target_directory",
  "trackingPath",
  "transcriptDir",
  "workdir",
  "working_directory",
  "worktreePath",
]);

/** Objects whose keys are paths. */
const pathKeyedFields: ReadonlySet<string> = new Set(["trackedFileBackups"]);

const deepest = 200;

/** Returns the rewritten line of a transcript, or undefined if nothing changes. */
export function rewriteLine(line: Buffer, mappings: readonly PathMapping[]): Rewritten | undefined {
  if (!mayMention(line, mappings)) return undefined;
  const value = parsed(line);
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const { type } = value as { type?: unknown };
  if (typeof type !== "string" || !isKnownLineType(type)) return undefined;
  return rewriteJson(line, mappings);
}

/** Rewrites the path fields of any JSON object, for example of an entry of the prompt history. */
export function rewriteJson(bytes: Buffer, mappings: readonly PathMapping[]): Rewritten | undefined {
  const walk: Walk = { bytes, mappings, found: [] };
  walkValue(walk, skipSpace(bytes, startOf(bytes), bytes.length), { isPath: false, key: "", depth: 0 });
  if (walk.found.length === 0) return undefined;
  const parts: Buffer[] = [];
  const splices: Splice[] = [];
  let from = 0;
  let length = 0;
  for (const { start, end, text } of walk.found) {
    parts.push(bytes.subarray(from, start), text);
    length += start - from;
    splices.push({ at: length, length: text.length, old: Buffer.from(bytes.subarray(start, end)) });
    length += text.length;
    from = end;
  }
  parts.push(bytes.subarray(from));
  return { bytes: Buffer.concat(parts), splices };
}

interface Walk {
  readonly bytes: Buffer;
  readonly mappings: readonly PathMapping[];
  /** The replacements, sorted by their position in the bytes. */
  readonly found: { readonly start: number; readonly end: number; readonly text: Buffer }[];
}

interface Place {
  readonly isPath: boolean;
  /** The field that the value belongs to. */
  readonly key: string;
  readonly depth: number;
}

/** Returns the position after the value. */
function walkValue(walk: Walk, at: number, place: Place): number {
  const { bytes } = walk;
  const end = bytes.length;
  const first = bytes[at];
  if (first === 0x22) {
    const behind = skipString(bytes, at, end);
    if (place.isPath && behind > 0) noteToken(walk, at, behind);
    return behind;
  }
  if (place.depth > deepest || (first !== 0x7b && first !== 0x5b)) return skipValue(bytes, at, end);
  if (first === 0x7b) return isUnknownBlock(walk, at, place) ? skipValue(bytes, at, end) : walkObject(walk, at, place);
  let i = skipSpace(bytes, at + 1, end);
  while (i >= 0 && i < end && bytes[i] !== 0x5d) {
    i = walkValue(walk, i, { ...place, depth: place.depth + 1 });
    if (i < 0) return -1;
    i = skipSpace(bytes, i, end);
    if (bytes[i] === 0x2c) i = skipSpace(bytes, i + 1, end);
  }
  return i + 1;
}

function walkObject(walk: Walk, at: number, place: Place): number {
  const { bytes } = walk;
  const end = bytes.length;
  const hasPathKeys = pathKeyedFields.has(place.key);
  let i = skipSpace(bytes, at + 1, end);
  while (i < end && bytes[i] === 0x22) {
    const keyEnd = skipString(bytes, i, end);
    if (keyEnd < 0) return -1;
    const key = bytes.toString("utf8", i + 1, keyEnd - 1);
    if (hasPathKeys) noteToken(walk, i, keyEnd);
    i = skipSpace(bytes, keyEnd, end);
    i = skipSpace(bytes, i + 1, end);
    i = walkValue(walk, i, { isPath: pathFields.has(key), key, depth: place.depth + 1 });
    if (i < 0) return -1;
    i = skipSpace(bytes, i, end);
    if (bytes[i] === 0x2c) i = skipSpace(bytes, i + 1, end);
  }
  return i + 1;
}

const typeKey = keys("type");
const typeFound = newFound(typeKey);

/** Returns true for a content block of an unknown type. Such a block is not changed. */
function isUnknownBlock({ bytes }: Walk, at: number, { key, depth }: Place): boolean {
  if (key !== "content" || depth > 4) return false;
  if (!findKeys(bytes, at, bytes.length, typeKey, typeFound)) return false;
  const [start = -1, end = -1] = typeFound;
  return start >= 0 && bytes[start] === 0x22 && !knownBlockTypes.has(bytes.toString("utf8", start + 1, end - 1));
}

function noteToken(walk: Walk, start: number, end: number): void {
  const token = walk.bytes.toString("utf8", start, end);
  const text = parsed(token);
  if (typeof text !== "string") return;
  const mapped = mapPath(text, walk.mappings);
  if (!mapped) return;
  const { prefix } = mapped;
  // If the path has no escapes, replacing its beginning is enough. This keeps the data for undo small.
  const isPlain = prefix !== undefined && !token.includes("\\") && token.startsWith(prefix.old, 1);
  if (isPlain) {
    const replaced = JSON.stringify(prefix.new).slice(1, -1);
    walk.found.push({ start: start + 1, end: start + 1 + Buffer.byteLength(prefix.old), text: Buffer.from(replaced) });
  } else walk.found.push({ start, end, text: Buffer.from(JSON.stringify(mapped.path)) });
}

/** Returns false if the line contains none of the paths. It is enough to search for the longest word of each path. */
function mayMention(line: Buffer, mappings: readonly PathMapping[]): boolean {
  return mappings.some(({ from }) => {
    const longest = from.split(/[^A-Za-z0-9]+/).reduce((a, b) => (b.length > a.length ? b : a), "");
    const isSafe = longest.length > 1 && !/^[A-Za-z]:|^\\\\/.test(from);
    return !isSafe || line.includes(longest);
  });
}

function startOf(bytes: Buffer): number {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
}

function parsed(text: string | Buffer): unknown {
  try {
    const json = typeof text === "string" ? text : text.toString("utf8", startOf(text));
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
