import { type Client, SkeinError } from "@skein/client";
import { useCallback, useEffect, useState } from "react";
import { isUnauthorized, sentenceOf } from "../api/api.ts";
import { forgetLogin, hasLoggedIn, logIn, logOut, takeKey } from "../api/login.ts";

export interface Login {
  /** Whether the browser is logged in; undefined while the key of the link is being sent. */
  readonly isIn: boolean | undefined;
  /** Why nobody is logged in, as a sentence. */
  readonly problem: string | undefined;
  readonly enter: (key: string) => void;
  readonly leave: () => void;
  /** Called when the server has rejected the cookie. */
  readonly refused: () => void;
}

/**
 * Whether this browser is logged in. If the link has no key, a browser that has logged in before uses its cookie. The
 * first response of the server shows whether this cookie is still valid.
 */
export function useLogin(client: Client, linkKey: string | undefined): Login {
  const [isIn, setIn] = useState(linkKey === undefined ? hasLoggedIn() : undefined);
  const [problem, setProblem] = useState<string>();
  const enter = useCallback(
    (key: string): void => {
      setProblem(undefined);
      logIn(client, key).then(
        () => setIn(true),
        (error: unknown) => {
          setProblem(refusal(error));
          setIn(false);
        },
      );
    },
    [client],
  );
  useEffect(() => {
    if (linkKey !== undefined) enter(linkKey);
    // The user may open the printed link in the tab that asks for the key. Then the browser does not load the page
    // again.
    const take = (): void => {
      const key = takeKey();
      if (key !== undefined) enter(key);
    };
    window.addEventListener("hashchange", take);
    return () => window.removeEventListener("hashchange", take);
  }, [linkKey, enter]);
  const leave = useCallback((): void => {
    void logOut(client);
    setProblem(undefined);
    setIn(false);
  }, [client]);
  const refused = useCallback((): void => {
    forgetLogin();
    setIn((was) => {
      if (was === true)
        setProblem("You are not logged in any more. A login ends after 12 hours, or when its key is revoked.");
      return false;
    });
  }, []);
  return { isIn, problem, enter, leave, refused };
}

function refusal(error: unknown): string {
  if (isUnauthorized(error)) return "The server does not know this key. It may have been revoked.";
  // An older server does not have the route for logins.
  if (error instanceof SkeinError && error.status === 404)
    return "This server is too old for logins. Update the server.";
  return sentenceOf(error);
}
