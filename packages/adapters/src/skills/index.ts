import { type Dirent, type Stats, lstatSync, readFileSync, readdirSync, realpathSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import type { Skill } from "@skein/core";
import { AgentSkill, KnownError } from "@skein/protocol";
import { bytesOf, createConfinedFolder, placeInside } from "../tools/confined-folder.ts";
import { type FrontMatter, readFrontMatter } from "./front-matter.ts";

/** A skill with its folders. A configuration can name `folder` or `root`. */
export interface FoundSkill extends Skill {
  /** The folder with the SKILL.md. */
  readonly folder: string;
  /** The configured folder. It contains the skill's folder or is the same folder. */
  readonly root: string;
}

const FILE = "SKILL.md";
/** The largest file of a skill, in bytes. The model is shown at most the same number of characters of a tool result. */
const MOST_BYTES = 100_000;

/**
 * Finds the skills in folders. A folder is a skill (with a SKILL.md) or contains skills. Throws `invalid` for an
 * invalid skill at the start, not only when the model needs the skill. Instructions are read when they are loaded.
 */
export function findSkills(folders: readonly string[]): readonly FoundSkill[] {
  const found = folders.flatMap((folder) => skillsIn(folder));
  const byName = new Map<string, FoundSkill>();
  for (const skill of found) {
    const other = byName.get(skill.name);
    if (other && other.folder !== skill.folder)
      throw invalid(
        `Two skills have the name "${skill.name}": ${other.folder} and ${skill.folder}. Rename one of them.`,
      );
    byName.set(skill.name, skill);
  }
  return [...byName.values()].toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

function skillsIn(folder: string): readonly FoundSkill[] {
  const root = rootOf(folder);
  if (statusOf(join(root, FILE))) return [skillOf(root, resolve(folder))];
  const entries = readdirSync(root, { withFileTypes: true }).filter(isCandidate);
  if (entries.length === 0)
    throw invalid(`${folder} has no skills. Expected a ${FILE} in this folder, or in each of its subfolders.`);
  return entries.map((entry) => {
    const own = join(root, entry.name);
    if (entry.isSymbolicLink())
      throw invalid(`${own} is a link. Links are not followed: copy the skill, or name its folder.`);
    return skillOf(own, resolve(folder));
  });
}

/** Selects visible folders and links. Links are rejected later. Other files, such as a README, are ignored. */
function isCandidate(entry: Dirent): boolean {
  return !entry.name.startsWith(".") && (entry.isDirectory() || entry.isSymbolicLink());
}

function rootOf(folder: string): string {
  try {
    const root = realpathSync(resolve(folder));
    if (lstatSync(root).isDirectory()) return root;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT")
      throw invalid(`${folder} cannot be read: ${(error as Error).message}`);
    throw invalid(`There is no folder ${folder}.`);
  }
  throw invalid(`${folder} is not a folder. Name the folder of a skill, or a folder that contains skills.`);
}

function skillOf(folder: string, root: string): FoundSkill {
  const file = join(folder, FILE);
  const status = statusOf(file);
  if (!status) throw invalid(`${folder} has no ${FILE}. Add this file, or move the folder elsewhere.`);
  if (status.isSymbolicLink()) throw invalid(`${file} is a link. Links are not followed: copy the file.`);
  if (!status.isFile()) throw invalid(`${file} is not a regular file.`);
  if (status.size > MOST_BYTES) throw invalid(tooLarge(file, status.size));
  const skill = described(file, folder);
  return { ...skill, folder, root, load: (path) => load(folder, path) };
}

function described(file: string, folder: string): AgentSkill {
  const { fields } = parsed(file, readFileSync(file));
  const missing = (["name", "description"] as const).filter((name) => (fields.get(name) ?? "") === "");
  if (missing.length > 0) throw invalid(`${file} has no ${missing.join(" and no ")} between its lines ---.`);
  const { data, error } = AgentSkill.safeParse({ name: fields.get("name"), description: fields.get("description") });
  if (!data) throw invalid(`${file}: ${String(error.issues[0]?.path[0])}: ${error.issues[0]?.message}`);
  if (data.name !== basename(folder))
    throw invalid(
      `${file} has the name "${data.name}", and its folder is "${basename(folder)}". Give both the same name.`,
    );
  return data;
}

function parsed(file: string, bytes: Uint8Array): FrontMatter {
  try {
    return readFrontMatter(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (error) {
    const why = error instanceof TypeError ? "It is not UTF-8 text." : (error as Error).message;
    throw invalid(`${file} is not a skill. ${why}`);
  }
}

/** Reads a file for the model. Errors contain no paths of this machine. */
async function load(folder: string, path: string = FILE): Promise<string> {
  const confined = createConfinedFolder(folder);
  const place = placeInside({ given: folder, base: folder }, path);
  const real = await realpath(place).catch(() => place);
  if (real !== place) throw new Error(`${path} is a link or is in a linked folder. Links are not followed.`);
  const file = await confined.openFile(path);
  try {
    if (file.size > MOST_BYTES) throw new Error(tooLarge(path, file.size));
    const bytes = await bytesOf(file, MOST_BYTES);
    if (path === FILE) return parsed(FILE, bytes).body || "[This skill has no instructions.]";
    if (bytes.includes(0)) throw new Error(`${path} is not text.`);
    return bytes.toString("utf8") || "[The file is empty.]";
  } finally {
    await file.close();
  }
}

const tooLarge = (file: string, size: number): string =>
  `${file} has ${size} bytes, and a file of a skill may have ${MOST_BYTES}. Split it into files that are loaded one by one.`;

function statusOf(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}

function invalid(sentence: string): KnownError {
  return new KnownError("invalid", `skills: ${sentence}`);
}
