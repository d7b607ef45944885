import { Link } from "wouter";
import { Nothing } from "../ui/empty-state.tsx";
import { usePageTitle } from "../ui/use-page-title.ts";

export function MissingPage() {
  usePageTitle("Not found");
  return (
    <Nothing title="There is no page at this address" state="idle">
      <p>The link may be cut off, or it is from another version of the console.</p>
      <Link className="btn" href="/">
        Home
      </Link>
    </Nothing>
  );
}
