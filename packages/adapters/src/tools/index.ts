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
export { isPublicAddress } from "./public-address.ts";
export { placesWith, urlProblem } from "./url-problem.ts";

export interface StandardToolsOptions {
  /** The folder that the tools work in. */
  readonly folder: string;
  readonly bash?: BashOptions;
  readonly web?: GuardedRequestOptions;
}

/** The tools that most agents need: Bash, Read, Write, Edit, Glob, Grep, WebFetch and TodoWrite, for one folder. */
export function createStandardTools({ folder, bash, web }: StandardToolsOptions): readonly Tool[] {
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
