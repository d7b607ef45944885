/** Converts sessions of Claude Code to Skein sessions, and Skein sessions to files that Claude Code opens. */
export { type AdoptDeps, adopt } from "./adopt.ts";
export { changedFiles } from "../changes/file-changes.ts";
export { claudeFiles } from "./claude-files.ts";
export { type ClaudeSession, type FoundSession, readClaudeSession } from "./claude-session.ts";
export { writeClaudeFiles } from "./write-claude-files.ts";
