/** `npm run screenshots` takes pictures of every page, in two sizes and two themes, for apps/console/pictures. */
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Page } from "playwright-core";
import { openBrowser } from "./browser.ts";
import { type SeededWorld, seed } from "./seed.ts";

interface Shot {
  readonly name: string;
  readonly path: (world: SeededWorld) => string;
  readonly before?: (page: Page) => Promise<unknown>;
}

const SHOTS: readonly Shot[] = [
  { name: "session", path: ({ main }) => `/sessions/${main}` },
  { name: "home", path: () => "/" },
  { name: "sessions", path: () => "/sessions" },
  {
    name: "session-effects",
    path: ({ main }) => `/sessions/${main}?tab=effects`,
    before: (page) =>
      page
        .getByRole("list", { name: "Transcript" })
        .or(page.locator(".transcript .scroll"))
        .first()
        .evaluate((element) => (element.scrollTop = 0)),
  },
  {
    name: "session-forks",
    path: ({ forked }) => `/sessions/${forked}`,
    before: async (page) => {
      const forks = page.getByRole("button", { name: /^Forks/ });
      if (await forks.isVisible()) await forks.click();
    },
  },
  { name: "session-long", path: ({ long }) => `/sessions/${long}?tab=tools` },
  { name: "context", path: ({ main }) => `/sessions/${main}/context` },
  { name: "claude-code", path: () => "/history/3f6d2c1e-8a41-4d7b-9c0e-5b1f7a2d9e01" },
  { name: "usage-claude-code", path: () => "/usage?source=agents" },
  { name: "agents", path: () => "/agents" },
  {
    name: "agent",
    path: () => "/agents",
    before: async (page) => {
      await page.getByRole("link", { name: /Fixer/ }).first().click();
      await page.getByText("System prompt").waitFor();
    },
  },
  { name: "agent-new", path: () => "/agents?new=1" },
  { name: "usage", path: () => "/usage" },
  {
    name: "usage-end",
    path: () => "/usage",
    before: (page) => page.locator("main .scroll").evaluate((element) => (element.scrollTop = 1e6)),
  },
  {
    name: "sql",
    path: () => "/sql",
    before: async (page) => {
      await page.getByRole("button", { name: /Run/ }).first().click();
      await page.locator(".res tbody tr").first().waitFor();
    },
  },
  { name: "settings", path: () => "/settings" },
  { name: "settings-keys", path: () => "/settings/keys" },
  { name: "settings-webhooks", path: () => "/settings/webhooks" },
  { name: "settings-models", path: () => "/settings/models" },
  { name: "settings-audit", path: () => "/settings/audit" },
  {
    name: "palette",
    path: () => "/",
    before: async (page) => {
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox").fill("ex");
    },
  },
];

const SIZES = [
  { size: "desktop", width: 1440, height: 900, scale: 1, touch: false },
  { size: "phone", width: 390, height: 844, scale: 2, touch: true },
] as const;

/** The pictures for the documents. The option `--docs` copies them into docs/pictures. */
const SHOWN: Readonly<Record<string, string>> = {
  "home-desktop-light": "console-home.png",
  "session-desktop-dark": "console-session.png",
  "sessions-desktop-light": "console-sessions.png",
  "claude-code-desktop-dark": "console-claude-code.png",
  "context-desktop-light": "console-context.png",
  "home-phone-light": "console-phone.png",
};
const isForDocs = process.argv.includes("--docs");

const only = process.argv
  .find((argument) => argument.startsWith("--only="))
  ?.slice(7)
  .split(",");
const folder = join(import.meta.dirname, "../pictures");
mkdirSync(folder, { recursive: true });
const data = mkdtempSync(join(tmpdir(), "skein-console-"));
const world = await seed({ data });
const { url, key } = world.platform;
try {
  for (const { size, width, height, scale, touch } of SIZES)
    for (const dark of [false, true]) {
      const browser = await openBrowser({ width, height, scale, touch, dark });
      const page = await browser.context.newPage();
      await page.goto(`${url}/#key=${key}`);
      // The login is complete when a page is shown, because the browser has the cookie only after the login.
      await page.locator(".app").waitFor();
      for (const shot of SHOTS) {
        if (only && !only.includes(shot.name)) continue;
        await page.goto(`${url}${shot.path(world)}`);
        await page.waitForLoadState("load");
        await delay(1200);
        // Waits until no placeholder (grey bars) is left.
        await page.locator(".sk").first().waitFor({ state: "detached" });
        await shot.before?.(page);
        await delay(400);
        const name = `${shot.name}-${size}-${dark ? "dark" : "light"}`;
        await page.screenshot({ path: join(folder, `${name}.png`) });
        const shown = SHOWN[name];
        if (isForDocs && shown !== undefined)
          copyFileSync(join(folder, `${name}.png`), join(import.meta.dirname, "../../../docs/pictures", shown));
      }
      await browser.close();
    }
} finally {
  await world.close();
  rmSync(data, { recursive: true, force: true });
}
