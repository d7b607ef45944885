import type { Group } from "../terminal/command.ts";
import { answer } from "./sessions/answer.ts";
import { cancel } from "./sessions/cancel.ts";
import { deleteCommand } from "./sessions/delete.ts";
import { exportCommand } from "./sessions/export.ts";
import { follow } from "./sessions/follow.ts";
import { fork } from "./sessions/fork.ts";
import { importCommand } from "./sessions/import.ts";
import { list } from "./sessions/list.ts";
import { parked } from "./sessions/parked.ts";
import { prune } from "./sessions/prune.ts";
import { show } from "./sessions/show.ts";

export const sessions: Group = {
  name: "sessions",
  summary: "the sessions of a store",
  commands: [list, show, follow, fork, cancel, answer, exportCommand, importCommand, deleteCommand, prune, parked],
  notes: "SESSION is an id, the beginning of an id if it is unique, or `last` for the newest session.",
};
