import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { LibraryConfig } from "../../../config.ts";
import { existingRoots } from "../../discover.ts";
import type { TaskItem, TodoItem } from "../format/todo.ts";
import { namesIn } from "./plans.ts";

export interface TodoList {
  readonly sessionId: string;
  readonly agentId: string;
  readonly items: readonly TodoItem[];
  readonly path: string;
  readonly modifiedAt: Date;
  /** Why the file could not be read. If it could not, `items` is empty. */
  readonly problem: string | null;
}

export interface TaskList {
  /** A session's id, a team, or a name that the user chose. */
  readonly listId: string;
  readonly tasks: readonly (TaskItem & { readonly path: string; readonly modifiedAt: Date })[];
  readonly problems: readonly { readonly path: string; readonly problem: string }[];
}

/** Reads todo lists, newest first. Only versions of Claude Code before 2.1.16 wrote todo lists. */
export async function listTodos(config: LibraryConfig = {}): Promise<readonly TodoList[]> {
  const { TodoFile } = await import("../format/todo.ts");
  const lists = existingRoots(config).flatMap((root) => {
    const folder = join(root, "todos");
    return namesIn(folder, ".json").flatMap((name) => {
      const [, sessionId, agentId] = /^(.+)-agent-(.+)\.json$/.exec(name) ?? [];
      if (sessionId === undefined || agentId === undefined) return [];
      const path = join(folder, name);
      const { value, problem } = readJson(path, (json) => TodoFile.parse(json));
      return { sessionId, agentId, items: value ?? [], path, modifiedAt: modifiedAt(path), problem };
    });
  });
  return lists.sort((a, b) => Number(b.modifiedAt) - Number(a.modifiedAt));
}

/** Reads task lists with their tasks in order. Task lists replaced todo lists in Claude Code 2.1.16. */
export async function listTasks(config: LibraryConfig = {}): Promise<readonly TaskList[]> {
  const schemas = await import("../format/todo.ts");
  return existingRoots(config).flatMap((root) => {
    const folder = join(root, "tasks");
    return foldersIn(folder).map((listId): TaskList => readTasks(listId, join(folder, listId), schemas.TaskItem));
  });
}

function readTasks(listId: string, folder: string, schema: typeof TaskItem): TaskList {
  const tasks: (TaskItem & { path: string; modifiedAt: Date })[] = [];
  const problems: { path: string; problem: string }[] = [];
  for (const name of namesIn(folder, ".json")) {
    const path = join(folder, name);
    const { value, problem } = readJson(path, (json) => schema.parse(json));
    if (value) tasks.push({ ...value, path, modifiedAt: modifiedAt(path) });
    else problems.push({ path, problem: problem ?? "" });
  }
  tasks.sort((a, b) => Number(a.id) - Number(b.id) || (a.id < b.id ? -1 : 1));
  return { listId, tasks, problems };
}

function readJson<T>(path: string, parse: (json: unknown) => T): { value: T | undefined; problem: string | null } {
  try {
    return { value: parse(JSON.parse(readFileSync(path, "utf8"))), problem: null };
  } catch (error) {
    return { value: undefined, problem: error instanceof SyntaxError ? "not JSON" : "not of the expected form" };
  }
}

function foldersIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => entry.name)
      .sort();
  } catch {
    return [];
  }
}

function modifiedAt(path: string): Date {
  return statSync(path, { throwIfNoEntry: false })?.mtime ?? new Date(0);
}
