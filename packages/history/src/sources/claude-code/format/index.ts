/** `@skein/history/format`: what other packages need of Claude Code's line format. */
export { encodeProjectPath } from "../discover/encode-project-path.ts";
export { FileHistoryDelta, FileHistorySnapshot } from "./file-history-lines.ts";
export { humanPrompt, machineTags } from "./human-prompt.ts";
export { schemas } from "./schemas.ts";
