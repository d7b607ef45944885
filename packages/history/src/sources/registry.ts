/** Every source that Skein reads, in the order in which a path is tried. */
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
import type { HistorySource } from "./port/source.ts";
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
