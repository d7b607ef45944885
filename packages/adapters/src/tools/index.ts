import type { SandboxMode, Tool } from "@skein/core";
import { type BashOptions, createBash } from "./bash.ts";
import { confinedFolderOf, placesOf } from "./call-place.ts";
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
  /** The folder of the tools. If it is not set, every session of a server has a separate folder. */
  readonly folder?: string;
  readonly bash?: BashOptions;
  readonly web?: GuardedRequestOptions;
  /**
   * Whether Bash, Read, Write, Edit, Glob and Grep run in a sandbox that sees only the folder and has no network. On a
   * server the policy decides, so this option is for programs without a server. With `required`, Bash is off if no
   * sandbox can be opened. Default: `off`.
   */
  readonly sandbox?: SandboxMode;
}

/**
 * The tools that most agents need: Bash, Read, Write, Edit, Glob, Grep, WebFetch and TodoWrite, for a fixed folder or
 * for the folder of each session. Reasons: docs/decisions/042-standard-tools.md.
 */
export function createStandardTools({ folder, bash, web, sandbox }: StandardToolsOptions): readonly Tool[] {
  const placeOf = placesOf({ folder, mode: sandbox ?? "off" });
  const folderOf = confinedFolderOf(placeOf);
  return [
    createBash(placeOf, bash),
    createRead(folderOf),
    createWrite(folderOf),
    createEdit(folderOf),
    createGlob(folderOf),
    createGrep(folderOf),
    createWebFetch(web),
    createTodoWrite(),
  ];
}
