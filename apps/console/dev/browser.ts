import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BrowserContext, chromium } from "playwright-core";
import { PATIENCE_MS } from "../../../scripts/patience.ts";

const PLACES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** Returns the path of the browser on this machine, or undefined if no browser is installed. */
export function chromiumPath(): string | undefined {
  return [process.env["CHROMIUM"], ...PLACES].find((path) => path !== undefined && existsSync(path));
}

interface Screen {
  readonly width: number;
  readonly height: number;
  readonly dark?: boolean;
  readonly scale?: number;
  readonly touch?: boolean;
  /**
   * Whether pages stay in the back/forward cache after the user leaves them. Users' browsers keep such pages, but
   * automation turns this cache off.
   */
  readonly keepsPages?: boolean;
}

export interface OpenBrowser {
  readonly context: BrowserContext;
  /** Opens another profile in the same browser, with its own cookies, connections and time zone. */
  newContext(timeZone?: string): Promise<BrowserContext>;
  close(): Promise<void>;
}

/** Starts the Chromium of this machine with a new profile, and turns off Chromium's own requests. */
export async function openBrowser(screen: Screen): Promise<OpenBrowser> {
  const executablePath = chromiumPath();
  if (executablePath === undefined) throw new Error("Chromium is not installed. On Debian: apt-get install chromium.");
  // Chromium does not remove its temporary files when it is closed. This folder collects them.
  const folder = mkdtempSync(join(tmpdir(), "skein-chromium-"));
  const browser = await chromium.launch({
    executablePath,
    env: { ...process.env, TMPDIR: folder },
    headless: true,
    ...(screen.keepsPages === true && { ignoreDefaultArgs: ["--disable-back-forward-cache"] }),
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
  const newContext = async (timeZone?: string): Promise<BrowserContext> => {
    const context = await browser.newContext({
      viewport: { width: screen.width, height: screen.height },
      deviceScaleFactor: screen.scale ?? 1,
      colorScheme: screen.dark === true ? "dark" : "light",
      hasTouch: screen.touch === true,
      isMobile: screen.touch === true,
      locale: "en-GB",
      ...(timeZone !== undefined && { timezoneId: timeZone }),
    });
    context.setDefaultTimeout(PATIENCE_MS);
    return context;
  };
  return {
    context: await newContext(),
    newContext,
    async close() {
      await browser.close();
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
