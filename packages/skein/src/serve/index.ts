export { sdkProblem } from "./claude.ts";
export { loadCode } from "./config-file.ts";
export { hookSecret } from "./hook-secret.ts";
export { checkModel } from "./model-check.ts";
export { type RunningServer, startServer } from "./server.ts";
export { type ServeFlags, type ServeSettings, serveSettings } from "./settings.ts";
