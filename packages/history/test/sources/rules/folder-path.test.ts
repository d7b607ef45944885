/** Tests that a folder has one path, even if agents write it differently. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { getUsage, listSessions, withSources } from "../../../src/index.ts";
import { folderPath } from "../../../src/sources/port/folder-path.ts";
import { temporaryFolder } from "../agent-data.ts";
import { folderWith } from "./one-source.ts";

test.each([
  ["/srv/demo", "/srv/demo"],
  ["/srv/demo//", "/srv/demo"],
  ["/", "/"],
  ["c:/work/demo/", "C:\\work\\demo"],
  ["C:\\work\\demo", "C:\\work\\demo"],
  ["c:", "C:\\"],
  ["d:\\", "D:\\"],
])("the folder %s is written as %s", (path, expected) => {
  expect(folderPath(path)).toBe(expected);
});

test("if agents spell a Windows folder differently, it is one project, before and after translation", async () => {
  const spellings = ["c:\\work\\demo\\", "C:/work/demo", "C:\\work\\demo"];
  const at = "2026-08-22T10:00:00.000Z";
  const used = { total_token_usage: { output_tokens: 5 }, last_token_usage: { output_tokens: 5 } };
  const root = folderWith(
    Object.fromEntries(
      spellings.map((cwd, n): [string, object[]] => [
        `sessions/2026/08/22/rollout-2026-08-22T10-00-00-0198c0de-0000-7000-8000-0000000000e${n}.jsonl`,
        [
          { timestamp: at, type: "session_meta", payload: { cwd } },
          {
            timestamp: at,
            type: "response_item",
            payload: { type: "message", role: "user", content: [{ type: "input_text", text: "q" }] },
          },
          { timestamp: at, type: "event_msg", payload: { type: "token_count", info: used } },
        ],
      ]),
    ),
  );
  for (const lines of ["as-needed", "all"] as const) {
    const { config } = await withSources({ dataPath: root, cacheFolder: join(temporaryFolder(), "cache"), lines });
    const { byProject } = await getUsage({ ...config, timeZone: "UTC" });
    expect(byProject.map(({ projectPath, calls }) => [projectPath, calls])).toEqual([["C:\\work\\demo", 3]]);
    const { data } = await listSessions({ ...config, limit: Infinity });
    expect(new Set(data.map(({ projectPath }) => projectPath))).toEqual(new Set(["C:\\work\\demo"]));
  }
});
