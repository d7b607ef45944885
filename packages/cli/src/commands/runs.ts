import type { Group } from "../terminal/command.ts";
import { list } from "./runs/list.ts";
import { logs } from "./runs/logs.ts";

export const runs: Group = {
  name: "runs",
  summary: "the runs of a session",
  commands: [list, logs],
  notes: "SESSION and RUN are ids, or the beginnings of ids if they are unique.",
};
