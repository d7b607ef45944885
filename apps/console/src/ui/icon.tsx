import type { ReactElement, SVGProps } from "react";

/** The shapes of all icons, drawn on 16 × 16. An icon has the colour of the text around it. */
const SHAPES = {
  agents: (
    <>
      <rect x="3" y="5.2" width="10" height="8" rx="2.2" />{" "}
      <path d="M8 5.2V2.6M6 8.6v1.2M10 8.6v1.2M1.5 8.2v2M14.5 8.2v2" />
    </>
  ),
  ask: (
    <>
      <path d="M3.2 3h9.6a.8.8 0 0 1 .8.8v6.6a.8.8 0 0 1-.8.8H8l-3 2.6v-2.6H3.2a.8.8 0 0 1-.8-.8V3.8a.8.8 0 0 1 .8-.8z" />
    </>
  ),
  back: (
    <>
      <path d="M13 8H3.2M7 4.2 3.2 8 7 11.8" />
    </>
  ),
  cancelled: (
    <>
      <circle cx="8" cy="8" r="6" /> <path d="m4 12 8-8" />
    </>
  ),
  cc: (
    <>
      <path d="M8 2.4v11.2M2.4 8h11.2M4 4l8 8M12 4l-8 8" strokeWidth="1.4" />
    </>
  ),
  check: (
    <>
      <path d="m3.5 8.4 3 3 6-6.6" />
    </>
  ),
  chev: (
    <>
      <path d="m6 3.8 4.2 4.2L6 12.2" />
    </>
  ),
  clip: (
    <>
      <path d="m12.8 7.4-4.9 4.9a3 3 0 0 1-4.2-4.2l5.1-5.1a2 2 0 0 1 2.8 2.8l-5 5a1 1 0 0 1-1.4-1.4l4.6-4.6" />
    </>
  ),
  clock: (
    <>
      <circle cx="8" cy="8" r="5.5" /> <path d="M8 5v3.2l2 1.3" />
    </>
  ),
  copy: (
    <>
      <rect x="5.5" y="5.5" width="8" height="8" rx="1.5" />{" "}
      <path d="M10.5 5.3V4A1.5 1.5 0 0 0 9 2.5H4A1.5 1.5 0 0 0 2.5 4v5A1.5 1.5 0 0 0 4 10.5h1.3" />
    </>
  ),
  done: (
    <>
      <circle cx="8" cy="8" r="6" /> <path d="m5.4 8.2 1.8 1.8 3.5-3.8" />
    </>
  ),
  down: (
    <>
      <path d="m3.8 6 4.2 4.2L12.2 6" />
    </>
  ),
  download: (
    <>
      <path d="M8 2.8v7M5 7l3 3 3-3M3 13.2h10" />
    </>
  ),
  edit: (
    <>
      <path d="M9.9 3.4 12.6 6 6 12.7l-3.3.6.6-3.3z" />
    </>
  ),
  eye: (
    <>
      <path d="M1.8 8S4 3.9 8 3.9 14.2 8 14.2 8 12 12.1 8 12.1 1.8 8 1.8 8z" /> <circle cx="8" cy="8" r="1.8" />
    </>
  ),
  failed: (
    <>
      <rect x="2.2" y="2.2" width="11.6" height="11.6" rx="2.4" fill="var(--failed-fill)" stroke="var(--failed-fill)" />{" "}
      <path d="m5.6 5.6 4.8 4.8m0-4.8-4.8 4.8" stroke="#fff" strokeWidth="1.7" />
    </>
  ),
  file: (
    <>
      <path d="M4 2.5h5L12.5 6v7a.6.6 0 0 1-.6.6H4a.6.6 0 0 1-.6-.6V3a.6.6 0 0 1 .6-.5z" /> <path d="M9 2.7V6h3.3" />
    </>
  ),
  filter: (
    <>
      <path d="M2.5 4h11M4.7 8h6.6M6.8 12h2.4" />
    </>
  ),
  fork: (
    <>
      <circle cx="4.5" cy="3.6" r="1.6" /> <circle cx="11.5" cy="3.6" r="1.6" /> <circle cx="8" cy="12.6" r="1.6" />{" "}
      <path d="M4.5 5.2v.9A1.9 1.9 0 0 0 6.4 8h3.2a1.9 1.9 0 0 0 1.9-1.9v-.9M8 8v3" />
    </>
  ),
  globe: (
    <>
      <circle cx="8" cy="8" r="5.6" />
      <path d="M2.4 8h11.2M8 2.4c3 3.4 3 7.8 0 11.2M8 2.4c-3 3.4-3 7.8 0 11.2" />
    </>
  ),
  home: (
    <>
      <path d="M2.5 7.2 8 2.8l5.5 4.4v5.6a.7.7 0 0 1-.7.7H3.2a.7.7 0 0 1-.7-.7z" /> <path d="M6.2 13.5V9.4h3.6v4.1" />
    </>
  ),
  idle: (
    <>
      <circle cx="8" cy="8" r="3.4" />
    </>
  ),
  image: (
    <>
      <rect x="2" y="3" width="12" height="10" rx="1.6" />
      <path d="m2.6 11.4 3.2-3.2 2.4 2.4 2-2 3.2 3.2M10.6 6h.01" />
    </>
  ),
  link: (
    <>
      <path d="M6.8 9.2a2.6 2.6 0 0 0 3.7 0l2.2-2.2A2.6 2.6 0 0 0 9 3.3l-.8.8M9.2 6.8a2.6 2.6 0 0 0-3.7 0L3.3 9A2.6 2.6 0 0 0 7 12.7l.8-.8" />
    </>
  ),
  more: (
    <>
      <path d="M3.5 8h.01M8 8h.01M12.5 8h.01" strokeWidth="2.2" />
    </>
  ),
  panel: (
    <>
      <rect x="2" y="3" width="12" height="10" rx="1.6" /> <path d="M10 3v10" />
    </>
  ),
  play: (
    <>
      <path d="M5 3.2 12.4 8 5 12.8z" />
    </>
  ),
  plus: (
    <>
      <path d="M8 3v10M3 8h10" />
    </>
  ),
  queued: (
    <>
      <circle cx="8" cy="8" r="5.6" strokeDasharray=".1 3.4" strokeWidth="2" />
    </>
  ),
  refresh: (
    <>
      <path d="M13 8a5 5 0 1 1-1.5-3.6L13 5.8M13 2.8v3h-3" />
    </>
  ),
  running: (
    <>
      <circle cx="8" cy="8" r="5.6" stroke="currentColor" opacity=".25" strokeWidth="2" />{" "}
      <path d="M8 2.4A5.6 5.6 0 0 1 13.6 8" strokeWidth="2" />
    </>
  ),
  search: (
    <>
      <circle cx="7" cy="7" r="4.3" /> <path d="m10.3 10.3 3.2 3.2" />
    </>
  ),
  sessions: (
    <>
      <path d="M5.5 4h8M5.5 8h8M5.5 12h8" /> <path d="M2.5 4h.01M2.5 8h.01M2.5 12h.01" strokeWidth="2" />
    </>
  ),
  settings: (
    <>
      <path d="M2.5 5h6M12.5 5h1M2.5 11h1M7.5 11h6" /> <circle cx="10.4" cy="5" r="1.9" />{" "}
      <circle cx="5.5" cy="11" r="1.9" />
    </>
  ),
  skein: (
    <>
      <path d="M3 6.1C3 4.2 5.2 3 8 3s5 1.2 5 3.1-2 2.5-5 2.5" />{" "}
      <path d="M13 9.9c0 1.9-2.2 3.1-5 3.1s-5-1.2-5-3.1 2-2.5 5-2.5" />
    </>
  ),
  sql: (
    <>
      <ellipse cx="8" cy="4" rx="5" ry="1.9" />{" "}
      <path d="M3 4v8c0 1 2.2 1.9 5 1.9s5-.9 5-1.9V4M3 8c0 1 2.2 1.9 5 1.9S13 9 13 8" />
    </>
  ),
  stop: (
    <>
      <rect x="4" y="4" width="8" height="8" rx="1.4" />
    </>
  ),
  sun: (
    <>
      <circle cx="8" cy="8" r="2.8" />
      <path d="M8 1.8v1.4M8 12.8v1.4M1.8 8h1.4M12.8 8h1.4M3.6 3.6l1 1M11.4 11.4l1 1M12.4 3.6l-1 1M4.6 11.4l-1 1" />
    </>
  ),
  table: (
    <>
      <rect x="2" y="3" width="12" height="10" rx="1.4" /> <path d="M2 6.4h12M6.4 6.4V13" />
    </>
  ),
  term: (
    <>
      <rect x="2" y="3" width="12" height="10" rx="1.6" /> <path d="m4.8 6.2 2 1.8-2 1.8M8.6 10h2.6" />
    </>
  ),
  think: (
    <>
      <path d="M8 2.2a4 4 0 0 1 2.3 7.3c-.5.4-.7.8-.7 1.4H6.4c0-.6-.2-1-.7-1.4A4 4 0 0 1 8 2.2zM6.6 13.4h2.8" />
    </>
  ),
  tool: (
    <>
      <path
        d="M9.2 4.5a3 3 0 0 1 3.9-1.8L11.3 4.5l.4 1.7 1.7.4 1-1a3 3 0 0 1-4 3.5l-4.8 4.5a1.4 1.4 0 0 1-2-2l4.6-4.9a3 3 0 0 1 1-2.2z"
        transform="translate(-.6 0)"
      />
    </>
  ),
  unknown: (
    <>
      <circle cx="8" cy="8" r="6.2" strokeDasharray="2.6 2.3" />{" "}
      <path d="M6.4 6.6a1.6 1.6 0 1 1 2.3 1.4c-.5.3-.7.5-.7 1M8 11h.01" />
    </>
  ),
  up: (
    <>
      <path d="M8 13V3.4M4 7.2 8 3.2l4 4" />
    </>
  ),
  usage: (
    <>
      <path d="M2.5 13.5h11" /> <path d="M4.5 11V8M8 11V3.5M11.5 11V6" />
    </>
  ),
  waiting: (
    <>
      <path d="M8 1.2 14.8 8 8 14.8 1.2 8z" fill="var(--waiting-fill)" stroke="var(--waiting-fill)" />{" "}
      <path d="M6.5 6.6a1.55 1.55 0 1 1 2.2 1.4c-.5.3-.7.5-.7 1M8 11h.01" stroke="#1b1b19" strokeWidth="1.5" />
    </>
  ),
  warn: (
    <>
      <path d="M8 2.6 14.2 13H1.8z" /> <path d="M8 6.6v3M8 11.4h.01" />
    </>
  ),
  x: (
    <>
      <path d="m4 4 8 8M12 4l-8 8" />
    </>
  ),
} as const satisfies Record<string, ReactElement>;

export type IconName = keyof typeof SHAPES;

/** An icon that screen readers skip. An icon without a text beside it needs a hidden label. */
export function Icon({
  name,
  small,
  className = "",
  ...rest
}: { name: IconName; small?: boolean } & SVGProps<SVGSVGElement>) {
  return (
    <svg viewBox="0 0 16 16" className={`i ${small ? "s" : ""} ${className}`} aria-hidden="true" {...rest}>
      {SHAPES[name]}
    </svg>
  );
}
