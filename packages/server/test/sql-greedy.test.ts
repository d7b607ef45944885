import { readFileSync, readdirSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { hasBubblewrap } from "../../sql/test/bubblewrap.ts";
import { testServer } from "./world.ts";

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly ms: number;
}

/** Starts a server that ends statements early, by default after 0.6 s, so that the tests are short. */
async function asked(
  statementMs = 600,
): Promise<{ readonly url: string; readonly ask: (sql: string) => Promise<Answer> }> {
  const { url, key } = await testServer({ limits: { statementMs } });
  return {
    url,
    async ask(sql) {
      const began = performance.now();
      const response = await fetch(`${url}/v1/sql`, {
        method: "POST",
        headers: { "x-api-key": key, "content-type": "application/json" },
        body: JSON.stringify({ sql }),
      });
      return { status: response.status, text: await response.text(), ms: performance.now() - began };
    },
  };
}

describe.skipIf(!hasBubblewrap)("greedy statements", { timeout: 120_000 }, () => {
  // Each case sends two statements at a time, because the server runs at most two.
  test.each([
    ["SELECT repeat('a', 2000000000)", "SELECT string_agg(repeat('a', 1000000), '') FROM range(100000)"],
    [
      "WITH RECURSIVE t AS (SELECT 'a' AS x UNION ALL SELECT x || x FROM t) SELECT max(length(x)) FROM t",
      "SELECT list(range) FROM range(1000000000)",
    ],
  ])("%s stays within the limits of a statement", async (first, second) => {
    const { ask } = await asked();
    for (const { status, text, ms } of await Promise.all([ask(first), ask(second)])) {
      expect([status, text]).toEqual([422, expect.stringMatching(/over_limit|statement_failed/)]);
      // The time limit is 0.6 s. A busy machine may report it later, but long before the statement would end.
      expect(ms).toBeLessThan(60_000);
    }
  });

  test("the server ends a slow statement at the time limit", async () => {
    const { ask } = await asked();
    for (const pair of [
      [
        "SELECT count(*) FROM range(100000000000) a, range(1000) b",
        "WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t) SELECT max(n) FROM t",
      ],
      [
        "SELECT sum(n) FROM generate_series(1, 1000000000000) t(n)",
        "SELECT count(DISTINCT range) FROM range(10000000000)",
      ],
    ])
      for (const { status, text, ms } of await Promise.all(pair.map((sql) => ask(sql)))) {
        expect([status, text]).toEqual([422, expect.stringContaining("took longer than 0.6 s")]);
        expect(ms).toBeLessThan(60_000);
      }
  });

  test("no process in the sandbox may take more than 1.5 GB", async () => {
    const { ask } = await asked();
    const answer = ask(
      "SELECT max(length(x)) FROM (SELECT repeat('a', 100000000 + range::INTEGER) AS x FROM range(100))",
    );
    let most = 0;
    for (;;) {
      most = Math.max(most, ...sandboxedMemory());
      if (await Promise.race([answer.then(() => true), delay(5, false)])) break;
    }
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThan(1536 * 1024);
  });

  test("a result is cut at 10,000 rows, or at 10 MB if its rows are large", async () => {
    const { ask } = await asked(30_000);
    const many = await ask("SELECT repeat('x', 900) AS x FROM range(10000000)");
    expect(many.text.slice(-60)).toContain('{"end":{"rows":10000,"truncated":true}}');
    const large = await ask("SELECT repeat('x', 10000) AS x FROM range(10000000)");
    expect(large.text.slice(-60)).toMatch(/"truncated":true/);
    expect(large.text.length).toBeLessThan(10.5 * 1024 * 1024);
  });

  test("if 20 heavy statements arrive, two run at a time, others get 429, and the API keeps answering", async () => {
    const { ask, url } = await asked(1000);
    const heavy = Array.from({ length: 20 }, () => ask("SELECT count(*) FROM range(100000000000) a, range(1000) b"));
    const health = await Promise.all(Array.from({ length: 20 }, () => fetch(`${url}/health`)));
    expect(health.map(({ status }) => status)).toEqual(health.map(() => 200));
    const answers = await Promise.all(heavy);
    const statuses = answers.map(({ status }) => status);
    const ran = statuses.filter((status) => status === 422).length;
    // When the server stops a statement, a waiting statement starts. So more than two statements may run in total.
    expect([2, 3, 4, 5, 6]).toContain(ran);
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(20 - ran);
    for (const { text } of refused)
      expect(text).toMatch(
        /2 SQL statements may run at once, shared by all tenants, and \d+ others wait\. Retry in \d+ s\./,
      );
  });
});

/** Returns the highest memory use of each process inside a sandbox, in KB. */
function sandboxedMemory(): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        if (!readFileSync(`/proc/${pid}/cmdline`, "utf8").startsWith("/skein/node")) return 0;
        return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0);
      } catch {
        return 0;
      }
    });
}
