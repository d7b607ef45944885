export { ClaudeFile } from "./adopt-routes.ts";
export * from "./errors.ts";
export { type Framing, type FramingContext, createFraming, frameId, partialFrame, placeOfFrame } from "./frames.ts";
export * from "./options.ts";
export * from "./requests.ts";
export * from "./responses.ts";
export { dollars } from "./result-frame.ts";
