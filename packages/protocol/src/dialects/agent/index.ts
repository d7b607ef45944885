export { ENVELOPE_TYPES, type Envelope, type EnvelopeType } from "./envelope.ts";
export type { FormatOptions } from "./enveloper.ts";
export { DONE, type Format, type TextFormatter, createFormatter, formatStream } from "./format-stream.ts";
export { FRAME_BYTES } from "./json.ts";
