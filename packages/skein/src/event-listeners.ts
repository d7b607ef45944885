import type { Tool, ToolResult } from "@skein/core";
import type { Event } from "@skein/protocol";

/** A function for each type of event. */
export type EventListeners<Tools extends readonly Tool[] = readonly Tool[]> = {
  readonly [Type in Event["event_type"]]?: (event: TypedEvent<Type, Tools>) => void;
};

type EventOf<Type extends Event["event_type"]> = Extract<Event, { event_type: Type }>;

/** An event of this type. The data of `tool.completed` has the types of the agent's tools. */
type TypedEvent<Type extends Event["event_type"], Tools extends readonly Tool[]> = Type extends "tool.completed"
  ? Omit<EventOf<Type>, "data"> & { readonly data: CompletedCall<ToolResult<Tools>> }
  : EventOf<Type>;

/** The data of a completed tool call, with a type for each tool name. Without an error, `output` is present. */
type CompletedCall<Result> = Result extends { readonly name: infer Name; readonly isError: infer Failed }
  ? Omit<EventOf<"tool.completed">["data"], "name" | "is_error" | "output"> & {
      readonly name: Name;
      readonly is_error: Failed;
    } & Pick<Result & { readonly output?: unknown }, "output">
  : never;
