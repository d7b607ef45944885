export { sdkProblem } from "./sdk-problem.ts";
export { codeOf, loadCode } from "./config-file.ts";
export { type RestateSettings, restateSettings } from "./engine-settings.ts";
export { hookSecret } from "./hook-secret.ts";
export { checkModel } from "./model-check.ts";
export { explainKey, openPolicy, wallsState } from "./policy.ts";
export { startServer } from "./server.ts";
export { type ServeFlags, type ServeSettings, serveSettings } from "./settings.ts";
export type { RunningServer } from "./start-options.ts";
