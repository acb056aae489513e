/** Who is signed in. A session is a random id in a cookie that no script and no other site can use; a restart of the board ends all. */
import { randomBytes } from 'node:crypto';

/** How long a session lasts without use, in milliseconds. */
const idleMs = 12 * 3_600_000;
/** After so many wrong tokens no other is looked at in that minute; a token has 200 random bits, this only keeps the noise down. */
const wrongPerMinute = 20;

const cookieName = 'taskbridge_session';

export type SignIn = { cookie: string } | 'wrong' | 'too many';

export interface Sessions {
  /** Opens a session for an operator's token. @returns the Set-Cookie value, or why there is none */
  signIn(token: string): SignIn;
  /** True when the Cookie header holds a living session whose token has not been revoked. */
  valid(cookieHeader: string | undefined): boolean;
  /** Ends the session. @returns the Set-Cookie value that forgets it */
  signOut(cookieHeader: string | undefined): string;
}

/** @param isOperator whether a token is known, not revoked, and an operator's */
export function createSessions(isOperator: (token: string) => boolean): Sessions {
  const sessions = new Map<string, { token: string; lastSeen: number }>();
  let minute = 0;
  let wrong = 0;
  const idIn = (header = ''): string =>
    header
      .split(';')
      .map((part) => part.trim().split('='))
      .find(([name]) => name === cookieName)?.[1] ?? '';
  const cookie = (id: string, more = ''): string => `${cookieName}=${id}; Path=/; HttpOnly; SameSite=Strict${more}`;
  return {
    signIn: (token) => {
      const now = Date.now();
      if (Math.floor(now / 60_000) !== minute) wrong = 0;
      minute = Math.floor(now / 60_000);
      if (wrong >= wrongPerMinute) return 'too many';
      if (!isOperator(token)) {
        wrong += 1;
        return 'wrong';
      }
      for (const [id, { lastSeen }] of sessions) if (now - lastSeen > idleMs) sessions.delete(id);
      const id = randomBytes(32).toString('base64url');
      sessions.set(id, { token, lastSeen: now });
      return { cookie: cookie(id) };
    },
    valid: (header) => {
      const id = idIn(header);
      const session = sessions.get(id);
      if (!session) return false;
      if (Date.now() - session.lastSeen > idleMs || !isOperator(session.token)) {
        sessions.delete(id);
        return false;
      }
      session.lastSeen = Date.now();
      return true;
    },
    signOut: (header) => {
      sessions.delete(idIn(header));
      return cookie('', '; Max-Age=0');
    },
  };
}
