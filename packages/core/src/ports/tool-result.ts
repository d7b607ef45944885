import type { Content } from "@skein/protocol";
import type { Tool } from "./tool.ts";

/** The result of a tool call. The name of the tool decides the type of the output. */
export type ToolResult<Tools extends readonly Tool[] = readonly Tool[]> = ResultOf<Tools[number]>;

/** A failed call has no output; its content is the sentence that the model reads. */
type ResultOf<One> =
  One extends Tool<infer Name, infer Output>
    ? { readonly name: Name; readonly toolUseId: string; readonly input: unknown; readonly content: Content } & (
        | { readonly isError: false; readonly output: Output }
        | { readonly isError: true; readonly output?: undefined }
      )
    : never;
