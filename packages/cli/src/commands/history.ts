import type { Group } from "../terminal/command.ts";

/** `skein history`: the sessions of coding agents. Only `migrate`, `undo` and `restore` change them. */
export const history: Group = {
  name: "history",
  summary:
    "Sessions of Claude Code, Codex and 12 other coding agents: find, read, price, export, move and archive them",
  commands: [
    { name: "list", load: async () => (await import("./history/list.ts")).list },
    { name: "show", load: async () => (await import("./history/show.ts")).show },
    { name: "search", load: async () => (await import("./history/search.ts")).search },
    { name: "usage", load: async () => (await import("./history/usage.ts")).usage },
    { name: "statusline", load: async () => (await import("./history/statusline.ts")).statusline },
    { name: "export", load: async () => (await import("./history/export.ts")).exportCommand },
    { name: "files", load: async () => (await import("./history/files.ts")).files },
    { name: "plans", load: async () => (await import("./history/plans.ts")).plans },
    { name: "todos", load: async () => (await import("./history/todos.ts")).todos },
    { name: "migrate", load: async () => (await import("./history/migrate.ts")).migrate },
    { name: "undo", load: async () => (await import("./history/undo.ts")).undo },
    { name: "archive", load: async () => (await import("./history/archive.ts")).archiveCommand },
    { name: "restore", load: async () => (await import("./history/restore.ts")).restore },
    { name: "watch", load: async () => (await import("./history/watch.ts")).watchCommand },
    { name: "verify", load: async () => (await import("./history/verify.ts")).verifyCommand },
    { name: "check", load: async () => (await import("./history/check.ts")).checkCommand },
  ],
  examples: [
    ["skein history list", "The newest sessions"],
    ['skein history search "flaky test" --since 7d', "Where this topic was mentioned"],
    ["skein history show 0", "Read the newest session"],
    ["skein history usage", "Tokens and cost by day and model"],
  ],
  notes: "Only migrate, undo and restore write to Claude Code's data directory.",
};
