/**
 * Caps on the spending of Claude Code: the real binary, with and without a sandbox, against a simulator whose answers
 * have a price.
 */
import { createKeys } from "@skein/server";
import type { Step } from "@skein/simulator";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStore } from "../../skein/src/open-store.ts";
import { hasBubblewrap } from "../../sql/test/bubblewrap.ts";
import { type ClaudeServer, claudeServer } from "./dialects/claude/server.ts";
import { type Caller, caller, say, scripted, settled } from "./world.ts";

const MODEL = "claude-sonnet-4-5";
const SOON = { interval: 50 };
/** This usage costs 20 cents if a million input tokens cost $3. */
const DEAR = { input_tokens: 66_667, output_tokens: 1, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
/** The cap is higher than the price of the longest answer: 32,000 tokens at $15 per million, and the input. */
const CAP = { spendPerDayUsd: 1, spendAskAtPercent: false } as const;

describe.each([
  ["in the sandbox", "required"],
  ["without a sandbox", "off"],
] as const)("Claude Code %s", (_, sandbox) => {
  describe.skipIf(sandbox === "required" && !hasBubblewrap)("under caps on spending", () => {
    let folder: string;
    let server: ClaudeServer;
    const keys = new Map<string, string>();

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), "skein-spend-claude-"));
      const storeUrl = `sqlite:${join(folder, "skein.db")}`;
      const store = await openStore(storeUrl);
      const all = createKeys({ records: store.records });
      for (const tenant of ["capped", "keyed", "agents", "asked", "denied"])
        keys.set(tenant, await all.make({ name: tenant, scopes: ["run", "admin"], tenant }));
      await store.close();
      const asking = { spendPerDayUsd: 2, spendAskAtPercent: 5 };
      server = await claudeServer({
        storeUrl,
        policy: {
          sandbox,
          keys: { keyed: CAP },
          agents: { Capped: CAP },
          tenants: { capped: CAP, asked: asking, denied: asking },
        },
      });
    }, 60_000);
    afterAll(async () => {
      await server?.close();
      rmSync(folder, { recursive: true, force: true });
    });

    const as = (tenant: string): Caller => caller(server.url, keys.get(tenant));

    async function begun(call: Caller, steps: readonly Step[], name = "Other"): Promise<string> {
      const agent = { name, runtime: "claude-code", model: MODEL };
      const { body } = await call("POST", "/v1/agents", agent);
      const made = await call("POST", `/v1/agents/${body.id}/sessions`, {});
      const path = `/v1/sessions/${made.body.id}`;
      expect((await say(call, path, scripted(path, steps))).status).toBe(202);
      return path;
    }

    async function failure(call: Caller, path: string): Promise<string> {
      const { body } = await call("GET", `${path}/events?limit=200`);
      const failed = body.data.find(({ event_type }) => event_type === "session.failed") as
        | { data: { error: { message: string }; stop_reason: string } }
        | undefined;
      return failed ? `${failed.data.stop_reason}: ${failed.data.error.message}` : "";
    }

    async function spent(call: Caller, of: string): Promise<number> {
      const { body } = await call("GET", "/v1/me");
      const caps = body["caps"] as { of: string; spend: { spent_usd: number; reserved_usd: number } | null }[];
      const cap = caps.find((each) => each.of === of)?.spend;
      return (cap?.spent_usd ?? 0) + (cap?.reserved_usd ?? 0);
    }

    // Without a sandbox the same code counts all three caps, so the test of the key is enough.
    const capped = [
      ["tenant", "capped"],
      ["key", "keyed"],
      ["agent", "agents"],
    ] as const;
    test.each(capped.filter(([of]) => sandbox === "required" || of === "key"))(
      "a run that reaches the cap of a %s ends with an error, and its calls never cost more than the cap",
      { timeout: 90_000 },
      async (of, tenant) => {
        const call = as(tenant);
        const agent = of === "agent" ? "Capped" : "Other";
        // Six answers of 20 cents in one run would cost $1.20, which is more than the cap.
        const steps: Step[] = Array.from({ length: 5 }, (__, at) => ({
          tools: [{ name: "Bash", input: { command: `echo ${at}` } }],
          usage: DEAR,
        }));
        const first = await begun(call, [...steps, { text: "Done.", usage: DEAR }], agent);
        const end = await settled(call, first);
        if (sandbox === "required") {
          expect(end).toMatchObject({ status: "failed" });
          expect(await failure(call, first)).toMatch(
            /^budget: The rest of today's cap of the .* does not pay for an answer of \d+ tokens/,
          );
          expect(await spent(call, of)).toBeLessThanOrEqual(1);
        }
        // The rest of the cap does not pay for another answer. So the server does not start Claude Code, or rejects its
        // call.
        const next = await begun(call, [{ text: "Once more.", usage: DEAR }], agent);
        expect(await settled(call, next)).toMatchObject({ status: "failed" });
        expect(await failure(call, next)).toMatch(/^budget: (?:The .* may spend|The rest of)/);
        expect(await failure(call, next)).toContain(`${of} "`);
        expect(server.simulator.ledger.calls({ label: next })).toHaveLength(0);
      },
    );

    test.runIf(sandbox === "required")(
      "when a set percentage of a cap is spent, a run waits for a person's approval before its first call",
      { timeout: 90_000 },
      async () => {
        const call = as("asked");
        const first = await begun(call, [{ text: "First.", usage: DEAR }]);
        expect(await settled(call, first)).toMatchObject({ status: "completed" });
        const second = await begun(call, [{ text: "Second.", usage: DEAR }]);
        await expect.poll(async () => (await call("GET", `${second}/awaits`)).body.data.length, SOON).toBe(1);
        expect(server.simulator.ledger.calls({ label: second })).toHaveLength(0);
        const [asked] = (await call("GET", `${second}/awaits`)).body.data;
        expect(asked).toMatchObject({ kind: "approval", name: "spend" });
        await call("POST", `${second}/awaits/${String(asked?.["tool_use_id"])}`, { content: "allow" });
        expect(await settled(call, second)).toMatchObject({ status: "completed" });
        expect(server.simulator.ledger.calls({ label: second })).toHaveLength(1);
      },
    );

    test.runIf(sandbox === "required")(
      "a run whose spending a person denies ends with an error message, and the model is not called",
      { timeout: 90_000 },
      async () => {
        const call = as("denied");
        expect(await settled(call, await begun(call, [{ text: "First.", usage: DEAR }]))).toMatchObject({
          status: "completed",
        });
        const second = await begun(call, [{ text: "Second.", usage: DEAR }]);
        await expect.poll(async () => (await call("GET", `${second}/awaits`)).body.data.length, SOON).toBe(1);
        const [asked] = (await call("GET", `${second}/awaits`)).body.data;
        await call("POST", `${second}/awaits/${String(asked?.["tool_use_id"])}`, { content: "deny" });
        expect(await settled(call, second)).toMatchObject({ status: "failed" });
        expect(await failure(call, second)).toMatch(/^budget: The tenant "denied" is close to .* denied it\.$/);
        expect(server.simulator.ledger.calls({ label: second })).toHaveLength(0);
      },
    );
  });
});
