export { ClaudeFile } from "./adopt-routes.ts";
export * from "./errors.ts";
export { type Framing, type FramingContext, createFraming, frameId, partialFrame, placeOfFrame } from "./frames.ts";
export { INIT_LEFT_OUT } from "./init-frame.ts";
export { type MessageRows, createMessageRows } from "./message-rows.ts";
export * from "./options.ts";
export * from "./requests.ts";
export * from "./responses.ts";
export { RESULT_LEFT_OUT, dollars } from "./result-frame.ts";
