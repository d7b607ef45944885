/**
 * Makes the folder name of a project path, like Claude Code. The name has lost information, so it cannot be decoded. It
 * is only used to find or create the folder of a known path.
 */
export function encodeProjectPath(path: string): string {
  const slug = path.replaceAll(/[^A-Za-z0-9]/g, "-");
  if (slug.length <= maxLength) return slug;
  return `${slug.slice(0, maxLength)}-${hashOf(path)}`;
}

const maxLength = 200;

function hashOf(path: string): string {
  let hash = 0;
  for (let i = 0; i < path.length; i += 1) hash = (Math.imul(hash, 31) + path.charCodeAt(i)) | 0;
  return Math.abs(hash).toString(36);
}
