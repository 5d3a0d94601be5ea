/** The roles of the processes that log in to NATS; `config/nats.roles.conf` has their permissions. */
import type { Msg } from 'nats';

export const NATS_ROLES = ['coordinator', 'shard', 'operator', 'admin'] as const;
export type NatsRole = (typeof NATS_ROLES)[number];

/** Prefix of the inboxes of a role's processes, the only ones that it may listen to. */
export const inboxPrefixOf = (role: NatsRole): string => `_INBOX.${role}`;

/**
 * Whether the message may be answered. The sender chooses the subject of the answer, and might choose a stream that only this
 * process may write to.
 */
export const isAnswerable = ({ reply }: Msg): boolean => reply?.startsWith('_INBOX.') ?? false;
