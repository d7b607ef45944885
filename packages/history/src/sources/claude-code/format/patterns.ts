import { z } from "zod";

/** Patterns of values in Claude Code's files. Other forms occur too, so readers do not reject a value that differs. */

export const Uuid = z.string().regex(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i);

/** Claude Code 2.0 wrote seven or eight hexadecimal digits. Newer versions write `a` and sixteen digits. */
export const ShortAgentId = z.string().regex(/^a?[0-9a-f]{6,17}$/i);

export const IsoTimestamp = z.string().regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/);

/** Versions before 2.1.110 wrote three words (`keen-juggling-origami`). Newer versions write words of the prompt. */
export const Slug = z.string().regex(/^[a-z0-9]+(-[a-z0-9]+)+$/);

/** Sixteen digits of the SHA-256 of the file's absolute path (not of its content), and a version. */
export const BackupFileName = z.string().regex(/^[0-9a-f]{16}@v\d+$/);

/** The folder name of a project: every UTF-16 unit outside of A-Z, a-z and 0-9 is a dash. It cannot be decoded. */
export const EncodedProjectPath = z.string().regex(/^[A-Za-z0-9-]+$/);
