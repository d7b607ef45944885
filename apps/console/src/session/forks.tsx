import { Popover, PopoverDisclosure, PopoverHeading, PopoverProvider } from "@ariakit/react/popover";
import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import type { Api, Session } from "../api/api.ts";
import { useApi } from "../api/context.tsx";
import { useTitles } from "../api/titles.ts";
import { visibleLine } from "../text/safe-text.ts";
import { money } from "../ui/amounts.ts";
import { Icon } from "../ui/icon.tsx";
import { stateOf } from "../ui/session-state.ts";
import { StateMark } from "../ui/status.tsx";
import { when } from "../ui/times.ts";

interface Branch {
  readonly session: Session;
  readonly depth: number;
}

/** The tree of a session's parents and forks, with a button to create a fork. */
export function Forks({ session, onFork }: { session: Session; onFork: () => void }) {
  const api = useApi();
  const titleOf = useTitles();
  const tree = useQuery({ queryKey: ["forks", session.id], queryFn: () => forkTree(api, session) });
  const branches = tree.data ?? [{ session, depth: 0 }];
  return (
    <PopoverProvider placement="bottom-end">
      <PopoverDisclosure className="btn desk-only">
        <Icon name="fork" small />
        Forks {branches.length > 1 && <span className="faint num">{branches.length - 1}</span>}
      </PopoverDisclosure>
      <Popover className="menu forks" gutter={6} unmountOnHide>
        <div className="h">
          <PopoverHeading className="forks-h">Forks of this session</PopoverHeading>
          <span className="end">
            <button type="button" className="btn quiet" onClick={onFork}>
              Fork here <kbd>⇧F</kbd>
            </button>
          </span>
        </div>
        {branches.map(({ session: one, depth }) => (
          <Link
            key={one.id}
            className={`fk ${one.id === session.id ? "on" : ""}`}
            href={`/sessions/${one.id}`}
            aria-current={one.id === session.id ? "true" : undefined}
          >
            <span className="fk-line" style={{ paddingLeft: `${depth * 20}px` }}>
              {depth > 0 && <span className="fk-bend" />}
              <span className={`fk-dot ${one.id === session.id ? "on" : ""}`} />
            </span>
            <span className="cut">
              <span className="cut block fk-title">{visibleLine(titleOf(one))}</span>
              <span className="meta">
                <span>{one.forked_from_sequence === null ? "the first" : `at event ${one.forked_from_sequence}`}</span>
                <span>{money(one.cost_micros)}</span>
                <span>{one.id === session.id ? "you are here" : when(one.updated_at)}</span>
              </span>
            </span>
            <StateMark state={stateOf(one)} />
          </Link>
        ))}
        <p className="lbl forks-foot">A fork copies the messages up to a point. The files stay as they are.</p>
      </Popover>
    </PopoverProvider>
  );
}

/** The most levels of the tree that are read, in each direction. */
const DEEPEST = 8;

/**
 * Reads the parents of the session, and all forks below the oldest parent. If a parent was deleted, the tree begins
 * with its fork.
 */
async function forkTree(api: Api, session: Session): Promise<readonly Branch[]> {
  let root = session;
  for (let up = 0; up < DEEPEST && root.parent_session_id !== null; up++) {
    const parent = await api.session(root.parent_session_id).catch(() => undefined);
    if (!parent) break;
    root = parent;
  }
  const branches: Branch[] = [];
  async function add(one: Session, depth: number): Promise<void> {
    branches.push({ session: one, depth });
    if (depth >= DEEPEST) return;
    const forks = await api.forksOf(one.id);
    for (const fork of forks.sort((left, right) => left.created_at.localeCompare(right.created_at)))
      await add(fork, depth + 1);
  }
  await add(root, 0);
  return branches;
}
