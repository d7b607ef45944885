/** Stores generated files under names of the form `{file_id}_{filename}`. */
export interface FileStore {
  /** Stores a file durably and returns the path for `get`. Putting a file again replaces it under the same path. */
  put(file: {
    sessionId: string;
    fileId: string;
    filename: string;
    bytes: Uint8Array;
  }): Promise<{ readonly storagePath: string }>;
  /**
   * Returns the bytes of a file. The path is from `put`, or `{session}/{file_id}_{filename}`. Rejects with `not_found`
   * if the file does not exist.
   */
  get(storagePath: string): Promise<Uint8Array>;
  /** Removes every file of a session. A session without files is fine. A custom file store may leave this out. */
  deleteSession?(sessionId: string): Promise<void>;
  /** The sessions that have files, in any order. A custom file store may leave this out. */
  sessions?(): AsyncIterable<string>;
  /** Resolves if files can be written now, and rejects with what is wrong. A custom file store may leave this out. */
  check?(): Promise<void>;
}
