/** Sorts the test files of `npm test`. Long files come first, so that no long file runs alone at the end. */
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files that take more than about ten seconds on two idle cores, the longest first. Other files follow by size. */
export const LONG_FILES: readonly string[] = [
  "apps/console/test/browser/console.test.ts",
  "apps/console/test/browser/troubles.test.ts",
  "apps/console/test/browser/tabs.test.ts",
  "apps/console/test/browser/demo.test.ts",
  "scripts/test/kill.test.ts",
  "packages/history/test/migrate-kill.test.ts",
  "packages/cli/test/chat.test.ts",
  "packages/skein/test/server/process.test.ts",
  "examples/test/examples.test.ts",
  "examples/test/kept-examples.test.ts",
  "examples/test/from.test.ts",
  "packages/adapters/test/sqlite-store.test.ts",
  "packages/adapters/test/claude-code/store-gone.test.ts",
  "packages/adapters/test/claude-code/sessions.test.ts",
  "packages/server/test/attacks/floods.test.ts",
  "packages/server/test/sql-hostile.test.ts",
  "packages/server/test/sql-greedy.test.ts",
  "packages/server/test/sql.test.ts",
  "packages/core/test/loop/stop.test.ts",
  "packages/skein/test/conformance/claude-api.test.ts",
  "packages/skein/test/conformance/agent-tables.test.ts",
  "packages/skein/test/conformance/checks.test.ts",
  "scripts/test/cluster.test.ts",
  "scripts/test/powercut.test.ts",
  "packages/server/test/two-machines.test.ts",
  "packages/adapters/test/loop-runtime.test.ts",
  "packages/cli/test/sql/sql.test.ts",
  "packages/cli/test/run.test.ts",
  "scripts/test/loop-kill.test.ts",
  "packages/cli/test/keys-command.test.ts",
  "packages/cli/test/sandbox-defaults.test.ts",
  "packages/server/test/attacks/claude-code.test.ts",
  "packages/server/test/attacks/loop-tools.test.ts",
  "packages/server/test/spend-caps-claude.test.ts",
  "packages/server/test/run-caps.test.ts",
  "packages/server/test/security.test.ts",
  "packages/adapters/test/claude-code/hostile-child.test.ts",
  "packages/adapters/test/tools.test.ts",
  "packages/adapters/test/claude-code/runtime.test.ts",
  "packages/adapters/test/postgres-store.test.ts",
  "packages/server/test/dialects/claude/options.test.ts",
  "packages/adapters/test/claude-code/process-guard.test.ts",
  "packages/adapters/test/engines.test.ts",
  "packages/server/test/dialects/claude/questions.test.ts",
  "packages/server/test/dialects/claude/files.test.ts",
  "packages/server/test/dialects/claude/sessions.test.ts",
  "packages/adapters/test/claude-code/hooks.test.ts",
  "packages/adapters/test/claude-code/options.test.ts",
  "scripts/test/faults.test.ts",
  "packages/server/test/store-away.test.ts",
  "packages/sql/test/values.test.ts",
  "packages/sql/test/export.test.ts",
  "packages/sql/test/live-files.test.ts",
  "packages/sql/test/copy.test.ts",
  "packages/adapters/test/mcp.test.ts",
  "packages/adapters/test/sandboxes/sandboxes.test.ts",
  "packages/adapters/test/claude-code/steer.test.ts",
  "packages/cli/test/history/mcp.test.ts",
  "packages/core/test/loop/awaits.test.ts",
  "packages/adapters/test/claude-code/stopped.test.ts",
  "packages/adapters/test/claude-code/killed.test.ts",
];

/** Puts the files of `LONG_FILES` first, in the order of the list. Other items keep their order. */
export function longFirst<Item>(items: readonly Item[], pathOf: (item: Item) => string): Item[] {
  const place = (item: Item): number => {
    const at = LONG_FILES.findIndex((name) => pathOf(item).endsWith(`/${name}`));
    return at === -1 ? LONG_FILES.length : at;
  };
  return items
    .map((item) => ({ item, at: place(item) }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

export class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return longFirst(await super.sort(files), ({ moduleId }) => moduleId);
  }
}
