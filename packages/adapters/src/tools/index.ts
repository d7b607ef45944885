import type { Tool } from "@skein/core";
import { type BashOptions, createBash } from "./bash.ts";
import { createConfinedFolder } from "./confined-folder.ts";
import { createGlob } from "./glob.ts";
import { createGrep } from "./grep.ts";
import type { GuardedRequestOptions } from "./guarded-request.ts";
import { createRead } from "./read.ts";
import { createTodoWrite } from "./todo-write.ts";
import { createWebFetch } from "./web-fetch.ts";
import { createEdit, createWrite } from "./write.ts";

export { createAskUserQuestion } from "./ask-user-question.ts";
export { type GuardedRequestOptions, guardedRequest } from "./guarded-request.ts";
export { createGuardedFetch } from "./guarded-fetch.ts";
export { isPublicAddress } from "./public-address.ts";
export { placesWith, urlProblem } from "./url-problem.ts";

export interface StandardToolsOptions {
  /** The folder that the tools work in. Without it, and on a server, each session works in a folder of its own. */
  readonly folder?: string;
  readonly bash?: BashOptions;
  readonly web?: GuardedRequestOptions;
}

/** The tools that most agents need: Bash, Read, Write, Edit, Glob, Grep, WebFetch and TodoWrite, for one folder or one per session. */
export function createStandardTools({ folder, ...options }: StandardToolsOptions): readonly Tool[] {
  if (folder !== undefined) return toolsIn(folder, options);
  const made = new Map<string, readonly Tool[]>();
  return toolsIn(".", options).map((shown) => ({
    ...shown,
    async run(input, context) {
      const own = (await context.workplace?.())?.folder;
      if (own === undefined) throw new Error(`${shown.name} has no folder here. Name one: standardTools({ folder }).`);
      const tools = made.get(own) ?? toolsIn(own, options);
      if (made.size >= REMEMBERED) made.clear();
      made.set(own, tools);
      return tools.find(({ name }) => name === shown.name)?.run(input, context);
    },
  }));
}

/** Sessions whose tools are remembered. */
const REMEMBERED = 100;

function toolsIn(folder: string, { bash, web }: Omit<StandardToolsOptions, "folder">): readonly Tool[] {
  const confined = createConfinedFolder(folder);
  return [
    createBash(confined, bash),
    createRead(confined),
    createWrite(confined),
    createEdit(confined),
    createGlob(confined),
    createGrep(confined),
    createWebFetch(web),
    createTodoWrite(),
  ];
}
