import { useState } from "react";

/** Image types that cannot contain scripts. SVG is left out, because it can contain scripts. */
const KINDS: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

/** An image from its bytes in the log. An image with a URL is never loaded. */
export function Picture({ source }: { source: unknown }) {
  const [isLarge, setLarge] = useState(false);
  const { type, media_type: kind, data } = (source ?? {}) as Record<string, unknown>;
  if (type !== "base64" || typeof kind !== "string" || typeof data !== "string" || !KINDS.has(kind))
    return <p className="chip">A picture that is not in the log</p>;
  if (!/^[A-Za-z0-9+/=\s]*$/.test(data.slice(0, 200))) return <p className="chip">A picture that cannot be read</p>;
  return (
    <button
      type="button"
      className={`picture ${isLarge ? "is-large" : ""}`}
      aria-label={isLarge ? "Smaller" : "Larger"}
      onClick={() => setLarge(!isLarge)}
    >
      <img src={`data:${kind};base64,${data}`} alt="Part of the message" loading="lazy" />
    </button>
  );
}
