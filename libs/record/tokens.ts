/** Clients and their bearer tokens. A token is stored as its hash only. */
import { createHash, timingSafeEqual } from 'node:crypto';
import { ApiError, newClientId, newToken } from '@taskbridge/contract';
import type { Database } from './database.ts';
import type { EventLog } from './event-log.ts';
import type { TokenInfo, Tokens } from './types.ts';

/** How exact the time of last use is, in milliseconds: a write per minute instead of one per request. */
const lastUseGrainMs = 60_000;

interface Row {
  id: string;
  client_id: string;
  client_name: string;
  hash: Buffer;
  operator: number;
  created_at: number;
  last_used_at: number | null;
  revoked_at: number | null;
}

const toInfo = (row: Row): TokenInfo => ({
  id: row.id,
  clientId: row.client_id,
  clientName: row.client_name,
  operator: row.operator === 1,
  createdAt: row.created_at,
  lastUsedAt: row.last_used_at,
  revokedAt: row.revoked_at,
});

const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest();
/** The first bits of the hash name a token in lists; they tell nothing about it. */
const idOf = (hash: Buffer): string => `k_${hash.toString('hex').slice(0, 12)}`;

export function createTokens(db: Database, events: EventLog): Tokens {
  const select = 'SELECT t.*, c.name AS client_name FROM tokens t JOIN clients c ON c.id = t.client_id';
  const byId = db.prepare<[string], Row>(`${select} WHERE t.id = ?`);
  const all = db.prepare<[], Row>(`${select} ORDER BY t.created_at, t.id`);
  const clientByName = db.prepare<[string], { id: string }>('SELECT id FROM clients WHERE name = ?');
  const insertClient = db.prepare('INSERT INTO clients (id, name, created_at) VALUES (?, ?, ?)');
  const insertToken = db.prepare('INSERT INTO tokens (id, client_id, hash, operator, created_at) VALUES (?, ?, ?, ?, ?)');
  const markUsed = db.prepare('UPDATE tokens SET last_used_at = ? WHERE id = ?');
  const markRevoked = db.prepare('UPDATE tokens SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL');

  return {
    create: (clientName, options, actor) => {
      const token = newToken();
      const hash = hashOf(token);
      const at = Date.now();
      db.transaction(() => {
        const clientId = clientByName.get(clientName)?.id ?? newClientId();
        if (!clientByName.get(clientName)) insertClient.run(clientId, clientName, at);
        insertToken.run(idOf(hash), clientId, hash, options.operator ? 1 : 0, at);
        events.append({ type: 'token.created', taskId: null, by: 'human', actor, data: { token: idOf(hash), client: clientName } }, at);
      }).immediate();
      events.committed();
      return { token, info: toInfo(byId.get(idOf(hash)) as Row) };
    },
    verify: (token) => {
      const hash = hashOf(token);
      const row = byId.get(idOf(hash));
      if (!row || !timingSafeEqual(row.hash, hash) || row.revoked_at !== null) return undefined;
      const now = Date.now();
      if (now - (row.last_used_at ?? 0) > lastUseGrainMs) markUsed.run(now, row.id);
      return { clientId: row.client_id, clientName: row.client_name, operator: row.operator === 1 };
    },
    list: () => all.all().map(toInfo),
    revoke: (tokenId, actor) => {
      const at = Date.now();
      db.transaction(() => {
        if (!byId.get(tokenId)) {
          throw new ApiError('not_found', `There is no token ${tokenId}.`, { field: 'id', fix: 'See: taskbridge token list.' });
        }
        if (markRevoked.run(at, tokenId).changes === 1) {
          events.append({ type: 'token.revoked', taskId: null, by: 'human', actor, data: { token: tokenId } }, at);
        }
      }).immediate();
      events.committed();
    },
  };
}
