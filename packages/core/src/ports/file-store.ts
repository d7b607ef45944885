/** Where generated files are kept, as `{file_id}_{filename}`. */
export interface FileStore {
  put(file: {
    sessionId: string;
    fileId: string;
    filename: string;
    bytes: Uint8Array;
  }): Promise<{ readonly storagePath: string }>;
  get(storagePath: string): Promise<Uint8Array>;
}
