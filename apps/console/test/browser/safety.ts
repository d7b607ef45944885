import { type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, test } from "vitest";
import { PAYLOADS } from "./payloads.ts";
import { type World, go } from "./world.ts";

/** Starts a server on this machine that no page may call. */
async function startCanary(): Promise<{ url: string; asked: string[]; close: () => void }> {
  const asked: string[] = [];
  const server: Server = createServer((request, response) => {
    asked.push(request.url ?? "");
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked, close: () => void server.close() };
}

/** Texts of models and tools that try to run a script or to call another host. */
export function describeSafety(shared: { readonly world: World }): void {
  describe.concurrent("hostile texts", () => {
    test("no hostile text runs a script, opens a dialog or calls another host", async ({ expect }) => {
      const { world } = shared;
      const canary = await startCanary();
      const payloads = PAYLOADS.map((payload) => payload.replaceAll("CANARY", canary.url));
      expect(payloads.length).toBeGreaterThanOrEqual(50);
      const all = payloads.join("\n\n");
      const id = await world.begin("Fixer", all.slice(0, 20_000), [
        {
          thinking: all,
          text: all,
          tools: payloads.slice(0, 20).map((payload, at) => ({
            name: at % 2 === 0 ? "Bash" : "Edit",
            input:
              at % 2 === 0
                ? { command: payload }
                : { file_path: payload, old_string: payload, new_string: `${payload} changed` },
          })),
        },
        { text: `Ended. ${all}` },
      ]);
      await world.client.patchSession({
        params: { session_id: id },
        body: { title: `<img src=${canary.url}/title onerror=alert(1)>`, tags: ["<svg onload=alert(1)>"] },
      });
      await world.client.createAgent({
        body: {
          name: `<script src=${canary.url}/agent></script>`,
          system_prompt: all,
          description: `![x](${canary.url}/description)`,
        },
      });
      await world.client.addModel({ body: { name: `<img src=${canary.url}/model>` } });
      const page = await world.open(`/sessions/${id}`);
      const dialogs: string[] = [];
      const outside: string[] = [];
      page.on("dialog", (dialog) => {
        dialogs.push(dialog.message());
        void dialog.dismiss();
      });
      page.on("request", (request) => {
        if (!request.url().startsWith(world.url) && !request.url().startsWith("data:image/"))
          outside.push(request.url());
      });
      await page.getByText("Ended.").first().waitFor();
      for (const fold of await page.getByRole("button", { name: /Thought/ }).all()) await fold.click();
      await page.keyboard.press("o");
      const tabs = ["outline", "effects", "tools", "files", "events"];
      for (const path of [
        ...tabs.map((tab) => `/sessions/${id}?tab=${tab}`),
        `/sessions/${id}?event=4`,
        `/sessions/${id}/context`,
        "/sessions",
        "/",
        "/agents",
        "/settings",
        "/usage",
      ]) {
        await go(page, path);
      }
      expect({ dialogs, outside, asked: canary.asked }).toEqual({ dialogs: [], outside: [], asked: [] });
      expect(await page.evaluate("window.pwned")).toBeUndefined();
      // The exported file is safe too: nothing in it runs, and it loads nothing.
      const exported: unknown = await world.client.exportSession({
        params: { session_id: id },
        query: { format: "html" },
      });
      const html = Buffer.from(exported as ArrayBuffer).toString();
      expect(html).toContain("Ended.");
      await page.goto("about:blank");
      await page.setContent(html);
      await page.getByText("Ended.").first().waitFor();
      expect({ dialogs, asked: canary.asked }).toEqual({ dialogs: [], asked: [] });
      expect(await page.evaluate("window.pwned")).toBeUndefined();
      await page.close();
      canary.close();
    }, 60_000);

    test("the content security policy of the page forbids inline scripts, and no other site can frame the page", async ({
      expect,
    }) => {
      const { headers } = await fetch(shared.world.url);
      const policy = headers.get("content-security-policy") ?? "";
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toContain("unsafe");
      expect(policy).not.toContain("*");
    });
  });
}
