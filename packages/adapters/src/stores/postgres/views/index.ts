import { createHash } from "node:crypto";
import { append } from "../functions/append.ts";
import { applyChanges } from "../functions/apply-changes.ts";
import { storeFunctions } from "../functions/store-functions.ts";
import { sumFunctions } from "../functions/sum-functions.ts";
import { moveEvents } from "../migrations/0008-partitioned-events.ts";
import { agent } from "./agent.ts";
import { api } from "./api.ts";
import { functions } from "./functions.ts";
import { platform } from "./platform.ts";
import { sessionMessages } from "./session-messages.ts";

/**
 * The functions of the store and the schemas `platform`, `agent` and `api`. They contain no data, so they are created
 * again whenever their text has changed. A change of a view's columns needs a migration.
 *
 * Every operator on a `json` body fails if the body has NUL or a lone surrogate anywhere, so views read bodies through
 * `skein.shown`. `platform.events.data` and `platform.messages.content` are the exact JSON.
 */
export const VIEWS = [
  applyChanges,
  append,
  storeFunctions,
  moveEvents,
  sumFunctions,
  functions,
  platform,
  agent,
  api,
  sessionMessages,
].join("\n");

/** The version of the functions and views in a database: a hash of their text. */
export const VIEWS_HASH = createHash("sha256").update(VIEWS).digest("hex");
