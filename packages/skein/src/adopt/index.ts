export { adopt } from "./adopt.ts";
export { claudeFiles } from "./claude-files.ts";
export { readClaudeSession } from "./claude-session.ts";
export { writeClaudeFiles } from "./write-claude-files.ts";
