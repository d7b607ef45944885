import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BrowserContext, chromium } from "playwright-core";

const PLACES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** Where the browser of this machine is; undefined if there is none. */
export function chromiumPath(): string | undefined {
  return [process.env["CHROMIUM"], ...PLACES].find((path) => path !== undefined && existsSync(path));
}

export interface OpenBrowser {
  readonly context: BrowserContext;
  /** Another profile in the same browser. */
  newContext(): Promise<BrowserContext>;
  close(): Promise<void>;
}

/** The machine's own Chromium with a new profile. It talks to loopback only. */
export async function openBrowser(options: {
  width: number;
  height: number;
  dark?: boolean;
  scale?: number;
  touch?: boolean;
}): Promise<OpenBrowser> {
  const executablePath = chromiumPath();
  if (executablePath === undefined) throw new Error("Chromium is not installed. On Debian: apt-get install chromium.");
  const profile = mkdtempSync(join(tmpdir(), "skein-browser-"));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath,
    headless: true,
    viewport: { width: options.width, height: options.height },
    deviceScaleFactor: options.scale ?? 1,
    colorScheme: options.dark === true ? "dark" : "light",
    hasTouch: options.touch === true,
    isMobile: options.touch === true,
    locale: "en-GB",
    args: [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
  return {
    context,
    async newContext() {
      const browser = context.browser();
      if (!browser) throw new Error("The browser is gone.");
      return browser.newContext({ viewport: { width: options.width, height: options.height } });
    },
    async close() {
      await context.close();
      rmSync(profile, { recursive: true, force: true });
    },
  };
}
