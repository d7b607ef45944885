import type { RawAnswer } from "../request-context.ts";

/** Makes a response that browsers save as a file and never render as a page of this server. */
export function savedFile(payload: Uint8Array, name: string): RawAnswer {
  const plain = name.replaceAll(/[^A-Za-z0-9._-]/g, "_").replace(/^\.*/, "") || "file";
  return {
    raw: {
      type: "application/octet-stream",
      payload: Buffer.from(payload),
      headers: {
        "content-disposition": `attachment; filename="${plain.slice(0, 150)}"; filename*=UTF-8''${encodeURIComponent(name.slice(0, 150)).replaceAll(/['()*]/g, "_")}`,
        "content-security-policy": "default-src 'none'; sandbox",
      },
    },
  };
}
