/** Lists every source, in the order in which sources check a path. */
import { amp } from "./amp/amp.ts";
import { claudeCode } from "./claude-code/claude-code.ts";
import { claudeDesktop } from "./claude-desktop/claude-desktop.ts";
import { codex } from "./codex/codex.ts";
import { copilot } from "./copilot/copilot.ts";
import { cursor } from "./cursor/cursor.ts";
import { droid } from "./droid/droid.ts";
import { gemini } from "./gemini/gemini.ts";
import { goose } from "./goose/goose.ts";
import { grok } from "./grok/grok.ts";
import { kimi } from "./kimi/kimi.ts";
import { opencode } from "./opencode/opencode.ts";
import { pi } from "./pi/pi.ts";
import type { HistorySource, SourceName } from "./port/source.ts";
import { qwen } from "./qwen/qwen.ts";

export const sources: readonly HistorySource[] = [
  claudeDesktop,
  claudeCode,
  copilot,
  cursor,
  codex,
  grok,
  gemini,
  opencode,
  pi,
  qwen,
  droid,
  kimi,
  amp,
  goose,
];

/**
 * Returns the source of this data by its layout. If the layout is unknown, returns Claude Code, because its error says
 * what is missing.
 */
export function recognise(path: string): HistorySource {
  return ownerOf(path) ?? claudeCode;
}

/** Returns the source of this data by its layout, or undefined if the layout is unknown. */
export function ownerOf(path: string): HistorySource | undefined {
  return sources.find((source) => source.owns(path));
}

/** Returns true if the data at this path looks like the data of a known agent. */
export function isRecognised(path: string): boolean {
  return ownerOf(path) !== undefined;
}

/** Returns the name of the source of this data. If the layout is unknown, returns `claude-code`. */
export function recogniseSource(path: string): SourceName {
  return recognise(path).name;
}
