/** `@skein/history/format`: the parts of Claude Code's line format that other packages need. */
export { encodeProjectPath } from "../discover/encode-project-path.ts";
export { FileHistoryDelta, FileHistorySnapshot } from "./file-history-lines.ts";
export { humanPrompt, machineTags } from "./human-prompt.ts";
export { schemas } from "./schemas.ts";
