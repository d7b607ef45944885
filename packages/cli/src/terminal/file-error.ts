/** An error of a system call. `path` is the file or folder that the error is about. */
type FileError = Error & { readonly code: string; readonly path?: string };

const SENTENCES: Readonly<Record<string, (path: string) => string>> = {
  ENOENT: (path) => `There is no ${path}.`,
  EEXIST: (path) => `${path} exists already.`,
  ENOTDIR: (path) => `There is no ${path}: a part of this path is a file, not a folder.`,
  EISDIR: (path) => `${path} is a folder. Expected a file.`,
  EACCES: (path) => `This user has no right to use ${path}.`,
  EPERM: (path) => `This user has no right to use ${path}.`,
  EROFS: (path) => `${path} is on a read-only file system.`,
  ENOSPC: (path) => `The disk of ${path} is full.`,
};

export function isFileError(error: unknown): error is FileError {
  return error instanceof Error && "syscall" in error && "code" in error;
}

/** Describes the error in a sentence. */
export function fileSentence({ code, path, message }: FileError): string {
  const sentence = Object.hasOwn(SENTENCES, code) ? SENTENCES[code] : undefined;
  return sentence && path !== undefined ? sentence(path) : message;
}
