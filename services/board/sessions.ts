/** Who is signed in. A session is a random id in a cookie that no script and no other site can use; a restart of the board ends all. */
import { randomBytes } from 'node:crypto';

/** How long a session lasts without use, in milliseconds. */
const idleMs = 12 * 3_600_000;
/** So many wrong tokens are looked at per minute; a token has 200 random bits, this only keeps the noise down. */
const triesPerMinute = 20;

const cookieName = 'taskbridge_session';

export interface Sessions {
  open(): string;
  /** True when the Cookie header holds a living session. */
  valid(cookieHeader: string | undefined): boolean;
  end(cookieHeader: string | undefined): void;
  /** The Set-Cookie value for a session, or to forget one. */
  cookie(id: string | undefined): string;
  /** Counts a try to sign in. @returns false when there were too many */
  mayTry(): boolean;
}

export function createSessions(): Sessions {
  const lastSeen = new Map<string, number>();
  let minute = 0;
  let tries = 0;
  const idIn = (header: string | undefined): string | undefined =>
    header
      ?.split(';')
      .map((part) => part.trim().split('='))
      .find(([name]) => name === cookieName)?.[1];
  return {
    open: () => {
      const now = Date.now();
      for (const [id, seen] of lastSeen) if (now - seen > idleMs) lastSeen.delete(id);
      const id = randomBytes(32).toString('base64url');
      lastSeen.set(id, now);
      return id;
    },
    valid: (header) => {
      const id = idIn(header);
      const seen = id === undefined ? undefined : lastSeen.get(id);
      if (id === undefined || seen === undefined || Date.now() - seen > idleMs) return false;
      lastSeen.set(id, Date.now());
      return true;
    },
    end: (header) => void lastSeen.delete(idIn(header) ?? ''),
    cookie: (id) => `${cookieName}=${id ?? ''}; Path=/; HttpOnly; SameSite=Strict${id === undefined ? '; Max-Age=0' : ''}`,
    mayTry: () => {
      const now = Math.floor(Date.now() / 60_000);
      if (now !== minute) tries = 0;
      minute = now;
      tries += 1;
      return tries <= triesPerMinute;
    },
  };
}
