import type { DataFile } from "../../../model/data-file.ts";

/** Reads a value from a file, or returns the earlier value if neither the file nor `dependsOn` has changed. */
export type ReadOnce<Value> = (file: DataFile, dependsOn: unknown, read: () => Value) => Value;

export function createReadOnce<Value>(): ReadOnce<Value> {
  const known = new Map<string, { readonly file: DataFile; readonly dependsOn: unknown; readonly value: Value }>();
  return (file, dependsOn, read) => {
    const before = known.get(file.path);
    if (before && before.dependsOn === dependsOn && isUnchanged(before.file, file)) return before.value;
    const value = read();
    known.set(file.path, { file, dependsOn, value });
    return value;
  };
}

function isUnchanged(before: DataFile, { size, mtimeMs, inode }: DataFile): boolean {
  return before.size === size && before.mtimeMs === mtimeMs && before.inode === inode;
}
