export function initSql(root: string | undefined): string {
  return root ?? "";
}
