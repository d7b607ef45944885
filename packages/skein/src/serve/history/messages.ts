/** Questions and answers between the server and the thread that reads the files of coding agents. */

export type Method = "list" | "get" | "messages" | "line" | "search" | "usage" | "files" | "file" | "export";

export type ToReader =
  | { readonly kind: "ask"; readonly id: number; readonly method: Method; readonly input: readonly unknown[] }
  | { readonly kind: "stop"; readonly id: number }
  | { readonly kind: "watch"; readonly isOn: boolean };

export type FromReader =
  | { readonly kind: "answer"; readonly id: number; readonly value: string | Uint8Array }
  | { readonly kind: "refused"; readonly id: number; readonly code: RefusalCode; readonly message: string }
  | {
      readonly kind: "changed";
      readonly sessionId: string;
      readonly change: "created" | "appended" | "rewritten" | "removed";
    };

/** The kind of the caller's mistake, or `bug` for an unexpected error. */
export type RefusalCode = "not_found" | "invalid" | "too_large" | "bug";

export interface ReaderOptions {
  readonly roots: readonly string[] | undefined;
  readonly cacheFolder: string;
}
