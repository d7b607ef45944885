import { z } from "zod";

/** A copy of a file before an edit. The name is null if the file did not exist. */
export const FileBackup = z.looseObject({
  backupFileName: z.string().nullable(),
  version: z.number(),
  backupTime: z.string().optional(),
});
export type FileBackup = z.infer<typeof FileBackup>;

/** The copied files at a user message. Paths inside the working directory are relative. */
export const FileHistorySnapshot = z.looseObject({
  type: z.literal("file-history-snapshot"),
  messageId: z.string(),
  isSnapshotUpdate: z.boolean().optional(),
  snapshot: z.looseObject({
    messageId: z.string().optional(),
    timestamp: z.string().optional(),
    trackedFileBackups: z.record(z.string(), FileBackup),
  }),
});
export type FileHistorySnapshot = z.infer<typeof FileHistorySnapshot>;

/** Adds a file to an earlier snapshot. Claude Code writes this line since version 2.1.220. */
export const FileHistoryDelta = z.looseObject({
  type: z.literal("file-history-delta"),
  messageId: z.string().optional(),
  snapshotMessageId: z.string(),
  trackingPath: z.string(),
  backup: FileBackup,
  timestamp: z.string().optional(),
});
export type FileHistoryDelta = z.infer<typeof FileHistoryDelta>;
