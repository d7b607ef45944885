import { lazy, Suspense } from "react";
import type { Waiting } from "../api/api.ts";
import { LoadingRows } from "../ui/nothing.tsx";

// Differences and highlighting are most of its code: Home stands before they are there.
const Loaded = lazy(async () => ({ default: (await import("./inbox.tsx")).Inbox }));

export function Inbox({ awaits }: { awaits: readonly Waiting[] }) {
  return (
    <Suspense fallback={<LoadingRows rows={4} />}>
      <Loaded awaits={awaits} />
    </Suspense>
  );
}
